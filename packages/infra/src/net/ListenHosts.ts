const loopback = new Set(["127.0.0.1", "::1", "[::1]", "localhost"])
const wildcards = new Set(["0.0.0.0", "::"])

/** Accepts a bracketed IPv6 address too, as in `URL.hostname`. */
export const isLoopback = (host: string): boolean => loopback.has(host)

export const isWildcard = (host: string): boolean => wildcards.has(host)

/** Brackets IPv6 addresses for URLs. */
export const hostInUrl = (host: string): string => (host.includes(":") ? `[${host}]` : host)

/** Returns the URL host by which this machine connects to a listener. */
export const toLocalAddress = (host: string): string =>
  isWildcard(host) ? (host === "::" ? "[::1]" : "127.0.0.1") : hostInUrl(host)
