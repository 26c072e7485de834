import { Context, type Duration } from "effect"
import type { BlockList } from "node:net"

/** Settings of the HTTP listeners. */
export class WebSettings extends Context.Tag("@berth/WebSettings")<
  WebSettings,
  {
    /** Address of the web API. */
    readonly appUrl: URL
    /** Parent domain of the instances' subdomains. */
    readonly agentsDomain: string
    /** Proxies whose `X-Forwarded-For` is trusted. */
    readonly trustedProxies: BlockList
    /** Version of the service, from package.json. */
    readonly serviceVersion: string
    /** Bodies over the default limit: minimum rate after the grace period, and concurrent uploads per address. */
    readonly uploads: {
      readonly minimumBytesPerSecond: number
      readonly grace: Duration.Duration
      readonly perAddress: number
    }
  }
>() {}
