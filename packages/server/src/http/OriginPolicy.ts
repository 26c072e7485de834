export const safeMethods = new Set(["GET", "HEAD", "OPTIONS"])
const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"])

const originKey = (origin: string): string | undefined => {
  if (!URL.canParse(origin)) return undefined
  const { hostname, port, protocol } = new URL(origin)
  return `${protocol}//${loopbackNames.has(hostname) ? "loopback" : hostname}:${port}`
}

/**
 * Whether a request may change state: the browser names the service's own origin (all names of the loopback address are
 * one). Requests without `Origin` are from programs, unless Fetch Metadata marks them as cross-site.
 */
export const isOwnOrigin = (
  method: string,
  { origin, "sec-fetch-site": fetchSite }: Readonly<Record<string, string | undefined>>,
  appUrl: URL
): boolean => {
  if (safeMethods.has(method)) return true
  return origin === undefined ? fetchSite !== "cross-site" : originKey(origin) === originKey(appUrl.origin)
}
