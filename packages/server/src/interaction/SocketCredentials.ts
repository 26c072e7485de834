import { bearerProtocolPrefix, socketProtocol } from "@berth/api/interaction/AgentSocketFrames"
import type { HttpServerRequest } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Option, Redacted } from "effect"
import type { IncomingMessage } from "node:http"

const path = /^\/agents\/[^/?]+\/ws\/?(?=\?|$)/

/** What clients offered as subprotocols before a token was taken out of them. */
const offeredProtocols = new WeakMap<IncomingMessage, string>()

const listed = (header: string | undefined) => (header ?? "").split(",").map((one) => one.trim())

/** The token in a subprotocol or in the query, and the request without it. */
export const extractToken = (given: { readonly url: string; readonly protocols: string | undefined }) => {
  const url = new URL(given.url, "http://localhost")
  const query = Option.fromNullable(url.searchParams.get("token"))
  url.searchParams.delete("token")
  const protocols = listed(given.protocols).filter((one) => one !== "")
  const bearer = Option.fromNullable(protocols.find((one) => one.startsWith(bearerProtocolPrefix)))
  return {
    token: Option.orElse(
      Option.map(bearer, (one) => one.slice(bearerProtocolPrefix.length)),
      () => query
    ),
    url: `${url.pathname}${url.search}`,
    protocols: protocols.filter((one) => !one.startsWith(bearerProtocolPrefix))
  }
}

/**
 * Turns a token that came by the query or a subprotocol, from a client that can set no header, into the header, before anything
 * of the request is logged or traced.
 */
export const moveTokenToHeader = (request: IncomingMessage): void => {
  const { headers, url = "/" } = request
  if (!path.test(url) || !URL.canParse(url, "http://localhost")) return
  const protocols = headers["sec-websocket-protocol"]
  const found = extractToken({ url, protocols })
  request.url = found.url
  if (protocols !== undefined) {
    offeredProtocols.set(request, protocols)
    headers["sec-websocket-protocol"] = found.protocols.join(", ")
  }
  if (Option.isSome(found.token) && headers.authorization === undefined)
    headers.authorization = `Bearer ${found.token.value}`
}

/** For the moment of the handshake, which answers with one of what was offered. */
export const restoreProtocols = (request: HttpServerRequest.HttpServerRequest): void => {
  const incoming = NodeHttpServerRequest.toIncomingMessage(request)
  const protocols = offeredProtocols.get(incoming)
  if (protocols !== undefined) incoming.headers["sec-websocket-protocol"] = protocols
}

/** Ours when it was offered. A client that offered its token alone goes without a socket unless it hears that again. */
export const chooseProtocol = (protocols: ReadonlySet<string>): string | false => {
  if (protocols.has(socketProtocol)) return socketProtocol
  return [...protocols].find((one) => one.startsWith(bearerProtocolPrefix)) ?? false
}

/** The token of `Authorization: Bearer`. */
export const parseBearerToken = (authorization: string | undefined): Option.Option<Redacted.Redacted> =>
  Option.map(Option.fromNullable(/^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1]), Redacted.make)
