const loopback = new Set(["127.0.0.1", "::1", "[::1]", "localhost"])
const wildcards = new Set(["0.0.0.0", "::"])

/** Also for a bracketed IPv6 address, as `URL.hostname` has it. */
export const isLoopback = (host: string): boolean => loopback.has(host)

export const isWildcard = (host: string): boolean => wildcards.has(host)

/** IPv6 addresses are bracketed in URLs. */
export const hostInUrl = (host: string): string => (host.includes(":") ? `[${host}]` : host)

/** The URL host by which this machine reaches a listener. */
export const toLocalAddress = (host: string): string =>
  isWildcard(host) ? (host === "::" ? "[::1]" : "127.0.0.1") : hostInUrl(host)
