import { Context, Option } from "effect"
import { makeInstanceUrl } from "../agents/AgentUrls.ts"
import type { WebSettings } from "./WebSettings.ts"

/** A host name below the agents' domain. */
export interface InstanceSite {
  /** `noSubdomain` for a name that no instance can have. */
  readonly subdomain: string
  readonly origin: URL
}

/** The instance that the current request is addressed to by its `Host`; none for the web API. */
export class InstanceHost extends Context.Reference<InstanceHost>()("@berth/InstanceHost", {
  defaultValue: (): Option.Option<InstanceSite> => Option.none()
}) {}

/** Not a DNS label, so no instance has it. */
export const noSubdomain = "-"

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Any name below the agents' domain is an instance's, whatever its port; the host of the web API is not. */
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
