import { Context } from "effect"
import type { BlockList } from "node:net"

/** What the HTTP side needs to know of its surroundings. */
export class WebSettings extends Context.Tag("@berth/WebSettings")<
  WebSettings,
  {
    /** Where people reach the web API. */
    readonly appUrl: URL
    /** Parent domain of the instances' subdomains. */
    readonly agentsDomain: string
    /** Proxies whose `X-Forwarded-For` counts. */
    readonly trustedProxies: BlockList
    /** Version of the service, from package.json. */
    readonly serviceVersion: string
  }
>() {}
