import { Context, Option } from "effect"
import { makeInstanceUrl } from "../agents/AgentUrls.ts"
import type { WebSettings } from "./WebSettings.ts"

/** A host name in the agents' domain. */
export interface InstanceSite {
  /** `noSubdomain` for an invalid name. */
  readonly subdomain: string
  readonly origin: URL
}

/** Instance addressed by the `Host` of the current request; none for the web API. */
export class InstanceHost extends Context.Reference<InstanceHost>()("@berth/InstanceHost", {
  defaultValue: (): Option.Option<InstanceSite> => Option.none()
}) {}

/** Not a DNS label, so it belongs to no instance. */
const noSubdomain = "-"

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Any name in the agents' domain except the host of the web API belongs to an instance, on any port. */
export const findInstanceSite = (
  host: string | undefined,
  { agentsDomain, appUrl }: Pick<WebSettings["Type"], "agentsDomain" | "appUrl">
): Option.Option<InstanceSite> => {
  const name = (host ?? "").toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "")
  const domain = agentsDomain.toLowerCase()
  if (name === appUrl.hostname || !(name === domain || name.endsWith(`.${domain}`))) return Option.none()
  const first = name.slice(0, -(domain.length + 1))
  const subdomain = label.test(first) ? first : noSubdomain
  return Option.some({ subdomain, origin: new URL(makeInstanceUrl(subdomain, domain, appUrl)) })
}
