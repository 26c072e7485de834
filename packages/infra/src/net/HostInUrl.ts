/** IPv6 addresses are bracketed in URLs. */
export const hostInUrl = (host: string) => (host.includes(":") ? `[${host}]` : host)
