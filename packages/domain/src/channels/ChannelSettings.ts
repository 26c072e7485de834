import { Context, Option } from "effect"
import type { ChannelTransport, ChannelKey } from "./ChannelConnection.ts"
import type { ChannelPlatform } from "./ChannelPlatform.ts"

export class ChannelSettings extends Context.Tag("@berth/ChannelSettings")<
  ChannelSettings,
  {
    /** Public address of the web API (`APP_URL`). */
    readonly appUrl: URL
  }
>() {}

/** Names that no platform on the internet can resolve. Private addresses are left to the operator. */
const isLocalName = (hostname: string): boolean =>
  hostname === "localhost" ||
  hostname.endsWith(".localhost") ||
  hostname.endsWith(".local") ||
  hostname.endsWith(".internal") ||
  /^(127|10|192\.168|169\.254|172\.(1[6-9]|2\d|3[01]))\./.test(hostname) ||
  /^\[(::1?|f[cd].*|fe80.*)\]$/i.test(hostname)

/** Whether a platform can call this address: https on a public name. */
const isPublicOrigin = ({ hostname, protocol }: URL): boolean => protocol === "https:" && !isLocalName(hostname)

export const makeWebhookUrl = (appUrl: URL, { agentId, platform }: ChannelKey): URL =>
  new URL(`/api/webhooks/${platform}/${agentId}`, appUrl)

/** A webhook if the platform supports it and can call this service, else a reader. */
export const selectTransport = (
  { hasWebhook, read }: Pick<ChannelPlatform, "hasWebhook" | "read">,
  appUrl: URL
): ChannelTransport => (hasWebhook && (isPublicOrigin(appUrl) || read === undefined) ? "webhook" : "polling")

export const findWebhookUrl = (transport: ChannelTransport, appUrl: URL, key: ChannelKey): Option.Option<URL> =>
  transport === "webhook" ? Option.some(makeWebhookUrl(appUrl, key)) : Option.none()
