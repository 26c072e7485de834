const safeMethods = new Set(["GET", "HEAD", "OPTIONS"])
const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"])

const originKey = (origin: string): string | undefined => {
  if (!URL.canParse(origin)) return undefined
  const { hostname, port, protocol } = new URL(origin)
  return `${protocol}//${loopbackNames.has(hostname) ? "loopback" : hostname}:${port}`
}

/**
 * Whether a request may change anything, by the page it comes from: a browser names the page's origin, and only the
 * service's own counts (the names of the loopback address are one). Programs send no `Origin`.
 */
export const isOwnOrigin = (method: string, origin: string | undefined, appUrl: URL): boolean =>
  safeMethods.has(method) || origin === undefined || originKey(origin) === originKey(appUrl.origin)
