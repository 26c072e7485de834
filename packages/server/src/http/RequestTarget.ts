import type { IncomingMessage } from "node:http"

/** Decodes unreserved characters (RFC 3986 6.2.2.2), which the router decodes but the route table does not. */
const decodeUnreserved = (path: string): string =>
  path.replaceAll(/%(?:2[DE]|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE])/gi, decodeURIComponent)

/**
 * Returns the origin form of a request target (RFC 9112 3.2). Escapes `;` and `#`, at which the router ends a path but
 * the route table does not.
 */
const toOriginForm = (target: string): string => {
  const origin = absoluteForm.exec(target)?.[0] ?? ""
  const rest = target.slice(origin.length)
  if (origin === "" && !rest.startsWith("/")) return target
  const queryStart = rest.indexOf("?")
  const path = queryStart === -1 ? rest : rest.slice(0, queryStart)
  const escaped = decodeUnreserved(path.replaceAll(";", "%3B").replaceAll("#", "%23"))
  return `${escaped === "" ? "/" : escaped}${rest.slice(path.length)}`
}

const absoluteForm = /^https?:\/\/[^/?#]*/i

/** Matches nearly all targets, which are in normal form. */
const isNormal = /^\/[^%;#]*$/

/** Rewrites an absolute target; its authority replaces the `Host` header (RFC 9112 3.2.2). */
export const normalizeTarget = (request: IncomingMessage): void => {
  const target = request.url ?? "/"
  if (isNormal.test(target)) return
  const origin = absoluteForm.exec(target)?.[0]
  if (origin !== undefined && request.headers.host !== undefined)
    request.headers.host = origin.slice(origin.indexOf("//") + 2)
  request.url = toOriginForm(target)
}
