import type { HttpServerRequest } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Effect, type Option, type Scope } from "effect"
import { type IncomingMessage, type Server, ServerResponse } from "node:http"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { WebSocket, WebSocketServer } from "ws"
import { newestExchange } from "./Exchanges.ts"
import { endSocket } from "./SocketEnd.ts"

interface Upgrade {
  readonly socket: Socket
  readonly head: Buffer
  readonly response: ServerResponse
}

/** Pending handshakes. */
const upgrades = new WeakMap<IncomingMessage, Upgrade>()

/** Whether the request is a WebSocket handshake (RFC 6455 section 4.1); the parser has seen `Connection: Upgrade`. */
const isWebSocketHandshake = ({ headers, httpVersion, method }: IncomingMessage): boolean =>
  method === "GET" &&
  httpVersion === "1.1" &&
  headers.upgrade?.toLowerCase() === "websocket" &&
  headers["sec-websocket-version"] === "13"

/** Emits a handshake as a request, so that the pipeline applies to it; its route can accept it. */
const emitAsRequest = (server: Server, request: IncomingMessage, socket: Socket, head: Buffer) => {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once("finish", () => {
    response.detachSocket(socket)
    endSocket(socket)
  })
  upgrades.set(request, { socket, head, response })
  server.emit("request", request, response)
}

/** Returns the request's head without the upgrade. */
const headWithoutOffer = ({ httpVersion, method = "", rawHeaders, url = "" }: IncomingMessage): Buffer => {
  const fields = rawHeaders.flatMap((name, index) =>
    index % 2 === 1 || name.toLowerCase() === "upgrade" ? [] : [`${name}: ${rawHeaders[index + 1] ?? ""}\r\n`]
  )
  return Buffer.from(`${method} ${url} HTTP/${httpVersion}\r\n${fields.join("")}\r\n`, "latin1")
}

/**
 * Ignores an upgrade (RFC 9110, section 7.8): the parser reads the request again without it, since Node 20 cannot
 * decline one.
 */
const declineOffer = (server: Server, request: IncomingMessage, socket: Socket, head: Buffer) => {
  socket.unshift(Buffer.concat([headWithoutOffer(request), head]))
  server.emit("connection", socket)
}

/** Handles an upgrade after the response to the previous request. */
const takeOffer = (server: Server) => (request: IncomingMessage, socket: Duplex, head: Buffer) => {
  // The parser has removed its listeners; an error without a listener would end the process.
  const onError = () => socket.destroy()
  socket.on("error", onError)
  if (!(socket instanceof Socket)) {
    socket.destroy()
    return
  }
  const proceed = () => {
    if (!socket.writable) {
      socket.destroy()
      return
    }
    // The keep-alive timeout of the previous request would interrupt a slow response.
    socket.setTimeout(0)
    if (isWebSocketHandshake(request)) emitAsRequest(server, request, socket, head)
    else {
      declineOffer(server, request, socket, head)
      socket.off("error", onError)
    }
  }
  const before = newestExchange(socket)?.response
  if (before === undefined || before.closed) proceed()
  else before.once("close", proceed)
}

/** Forwards WebSocket handshakes as requests until the scope closes. */
export const emitHandshakes = (server: Server): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const listener = takeOffer(server)
        server.on("upgrade", listener)
        return listener
      }),
      (listener) => Effect.sync(() => server.off("upgrade", listener))
    )
  )

/** Whether the request is a pending WebSocket handshake. */
export const isHandshake = (request: HttpServerRequest.HttpServerRequest): boolean =>
  upgrades.has(NodeHttpServerRequest.toIncomingMessage(request))

/** Whether a handshake has the key required by `acceptWebSocket`: 16 bytes in base64. */
export const hasHandshakeKey = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  /^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")

/** Accepts the handshake; none if the client has disconnected. Then nothing else may respond to the request. */
export const acceptWebSocket = (
  request: HttpServerRequest.HttpServerRequest,
  sockets: WebSocketServer
): Effect.Effect<Option.Option<WebSocket>> =>
  Effect.async((resume) => {
    const incoming = NodeHttpServerRequest.toIncomingMessage(request)
    const upgrade = upgrades.get(incoming)
    if (upgrade === undefined || upgrade.socket.destroyed) {
      resume(Effect.succeedNone)
      return
    }
    const { head, response, socket } = upgrade
    upgrades.delete(incoming)
    response.detachSocket(socket)
    // Without its socket the response writes nothing, but counts as answered.
    response.end()
    socket.once("close", () => resume(Effect.succeedNone))
    sockets.handleUpgrade(incoming, socket, head, (made) => resume(Effect.succeedSome(made)))
  })
