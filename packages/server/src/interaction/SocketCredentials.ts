import { bearerProtocolPrefix, socketProtocol } from "@berth/api/interaction/AgentSocketFrames"
import { apiKeyPrefix } from "@berth/domain/accounts/api-keys/ApiKey"
import type { HttpServerRequest } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Option } from "effect"
import type { IncomingMessage } from "node:http"

const path = /^\/agents\/[^/?]+\/ws\/?(?=\?|$)/

/** The subprotocol header before the removal of the token. */
const offeredProtocols = new WeakMap<IncomingMessage, string>()

const listed = (header: string | undefined) => (header ?? "").split(",").map((entry) => entry.trim())

/** Returns the token in a subprotocol or the query, and the request without it. */
const extractToken = (request: { readonly url: string; readonly protocols: string | undefined }) => {
  const url = new URL(request.url, "http://localhost")
  const query = Option.fromNullable(url.searchParams.get("token"))
  url.searchParams.delete("token")
  const protocols = listed(request.protocols).filter((protocol) => protocol !== "")
  const bearer = Option.fromNullable(protocols.find((protocol) => protocol.startsWith(bearerProtocolPrefix)))
  return {
    token: Option.orElse(
      Option.map(bearer, (protocol) => protocol.slice(bearerProtocolPrefix.length)),
      () => query
    ),
    url: `${url.pathname}${url.search}`,
    protocols: protocols.filter((protocol) => !protocol.startsWith(bearerProtocolPrefix))
  }
}

/** Moves a token from the query or a subprotocol to the header before the request is logged or traced. */
export const moveTokenToHeader = (request: IncomingMessage): void => {
  const { headers, url = "/" } = request
  if (!path.test(url) || !URL.canParse(url, "http://localhost")) return
  const protocols = headers["sec-websocket-protocol"]
  const credentials = extractToken({ url, protocols })
  request.url = credentials.url
  if (protocols !== undefined) {
    offeredProtocols.set(request, protocols)
    headers["sec-websocket-protocol"] = credentials.protocols.join(", ")
  }
  // API keys are for programs, which can set the header; URLs are stored in too many places.
  if (
    Option.isSome(credentials.token) &&
    !credentials.token.value.startsWith(apiKeyPrefix) &&
    headers.authorization === undefined
  )
    headers.authorization = `Bearer ${credentials.token.value}`
}

/** The handshake must select one of the offered subprotocols. */
export const restoreProtocols = (request: HttpServerRequest.HttpServerRequest): void => {
  const incoming = NodeHttpServerRequest.toIncomingMessage(request)
  const protocols = offeredProtocols.get(incoming)
  if (protocols !== undefined) incoming.headers["sec-websocket-protocol"] = protocols
}

/** Selects Berth's subprotocol if offered. A client that offered only its token fails unless the token is selected. */
export const chooseProtocol = (protocols: ReadonlySet<string>): string | false => {
  if (protocols.has(socketProtocol)) return socketProtocol
  return [...protocols].find((protocol) => protocol.startsWith(bearerProtocolPrefix)) ?? false
}
