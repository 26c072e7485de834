import {
  HttpVersionUnsupported,
  HttpVersionUnsupportedBody,
  MethodNotAllowed,
  MethodNotAllowedBody,
  OriginNotAllowed,
  OriginNotAllowedBody,
  RequestMalformed,
  RequestMalformedBody,
  RouteNotFound,
  RouteNotFoundBody,
  TransferCodingUnsupported,
  TransferCodingUnsupportedBody
} from "@berth/api/http/TransportErrors"
import { HttpServerResponse } from "@effect/platform"
import { Either, Option } from "effect"
import { makeErrorResponse } from "./ErrorResponse.ts"
import type { ListenerRequest } from "./ListenerRequest.ts"
import { isOwnOrigin } from "./OriginPolicy.ts"
import { type KnownRoute, listMethods } from "./RouteTable.ts"
import type { SecretCookie } from "./SecretCookies.ts"

/** Whether a path has valid percent-encoding without U+0000. */
const isNameable = (path: string) =>
  path.includes("%")
    ? Either.match(
        Either.try(() => decodeURIComponent(path)),
        { onLeft: () => false, onRight: (decoded) => !decoded.includes("\u0000") }
      )
    : !path.includes("\u0000")

const versions = new Set(["1.1", "1.0"])

const isHost = (name: string) => name.length === 4 && name.toLowerCase() === "host"

/** Characters of `uri-host [":" port]` in RFC 9110, section 7.2. */
const hostCharacters = /^[\w.~!$&'()*+,;=:%[\]-]*$/

/** HTTP/1.1 requires exactly one valid `Host` header; with two, a proxy may have used the other one. */
const hasOneHost = ({ source }: ListenerRequest) => {
  const hosts = source.rawHeaders.filter((name, index) => index % 2 === 0 && isHost(name)).length
  if (hosts === 0) return source.httpVersion === "1.0"
  return hosts === 1 && hostCharacters.test(source.headers.host ?? "")
}

/** Routes of a host, and the origin whose pages may call them. */
export interface HostRoutes {
  readonly routes: ReadonlyArray<KnownRoute>
  readonly origin: URL
}

/** Returns the response to a request that reaches no handler; undefined for other requests. */
export const makeEarlyResponder =
  (session: SecretCookie, { sameOrigin }: { readonly sameOrigin: boolean }) =>
  (
    request: ListenerRequest,
    path: string,
    route: Option.Option<KnownRoute>,
    { origin: ownOrigin, routes }: HostRoutes
  ): HttpServerResponse.HttpServerResponse | undefined => {
    if (!versions.has(request.source.httpVersion))
      return makeErrorResponse(HttpVersionUnsupportedBody, new HttpVersionUnsupported(), { connection: "close" })
    if (!hasOneHost(request)) return makeErrorResponse(RequestMalformedBody, new RequestMalformed())
    if ((request.headers["transfer-encoding"] ?? "chunked").trim().toLowerCase() !== "chunked")
      return makeErrorResponse(TransferCodingUnsupportedBody, new TransferCodingUnsupported(), { connection: "close" })
    // RFC 9110, section 9.3.7: `*` addresses the server as a whole.
    if (request.method === "OPTIONS" && path === "*") return HttpServerResponse.empty()
    if (!isNameable(path) || path.includes("//")) return makeErrorResponse(RouteNotFoundBody, new RouteNotFound())
    if (Option.isNone(route)) {
      const allowed = listMethods(routes, path)
      return allowed.length === 0
        ? makeErrorResponse(RouteNotFoundBody, new RouteNotFound())
        : makeErrorResponse(MethodNotAllowedBody, new MethodNotAllowed({ allowed }), { allow: allowed.join(", ") })
    }
    const origin = request.headers["origin"]
    // An open route accepts pages of other origins only without a session cookie.
    const isOpen = Boolean(route.value.crossOrigin) && Option.isNone(session.read(request))
    const isExcused = isOpen || (origin === "null" && route.value.opaqueOrigin === true)
    return sameOrigin && !isExcused && !isOwnOrigin(request.method, request.headers, ownOrigin)
      ? makeErrorResponse(OriginNotAllowedBody, new OriginNotAllowed())
      : undefined
  }
