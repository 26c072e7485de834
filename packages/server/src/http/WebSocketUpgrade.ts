import { HttpServer, type HttpServerRequest } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Effect, Layer, type Option } from "effect"
import { type IncomingMessage, type Server, ServerResponse } from "node:http"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { WebSocket, WebSocketServer } from "ws"

interface Upgrade {
  readonly socket: Socket
  readonly head: Buffer
  readonly response: ServerResponse
}

/** Requests whose connection waits to become something else. */
const upgrades = new WeakMap<IncomingMessage, Upgrade>()

/** A request to upgrade is a request like any other, so that the same rules hold for it; its route may `accept` it. */
const emitAsRequest = (server: Server) => (request: IncomingMessage, socket: Duplex, head: Buffer) => {
  // Nobody else listens by now, and an error that nobody hears would end the process.
  socket.on("error", () => socket.destroy())
  if (!(socket instanceof Socket)) {
    socket.destroy()
    return
  }
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once("finish", () => {
    response.detachSocket(socket)
    socket.end()
  })
  upgrades.set(request, { socket, head, response })
  server.emit("request", request, response)
}

/**
 * The HTTP server with upgrades passed on as requests. The library's own way takes frames of any size and chooses the first
 * subprotocol, so its listener goes.
 */
export const layer = (server: Server): Layer.Layer<HttpServer.HttpServer, never, HttpServer.HttpServer> =>
  Layer.effect(
    HttpServer.HttpServer,
    Effect.map(HttpServer.HttpServer, (inner) =>
      HttpServer.make({
        address: inner.address,
        serve: (app, middleware) =>
          (middleware === undefined ? inner.serve(app) : inner.serve(app, middleware)).pipe(
            Effect.zipRight(
              Effect.acquireRelease(
                Effect.sync(() => {
                  const listener = emitAsRequest(server)
                  server.removeAllListeners("upgrade").on("upgrade", listener)
                  return listener
                }),
                (listener) => Effect.sync(() => server.off("upgrade", listener))
              )
            ),
            Effect.asVoid
          )
      })
    )
  )

/** Whether the request asks for a WebSocket, in the one way there is. */
export const isWebSocketHandshake = ({ headers }: Pick<HttpServerRequest.HttpServerRequest, "headers">): boolean =>
  headers["upgrade"]?.toLowerCase() === "websocket" &&
  headers["sec-websocket-version"] === "13" &&
  /^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")

/** Makes a WebSocket of the request's connection; none when it is not to be had, say because the client has left. Nothing else answers the request then. */
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
    // Without its socket the response writes nowhere; it counts as answered.
    response.end()
    socket.once("close", () => resume(Effect.succeedNone))
    sockets.handleUpgrade(incoming, socket, head, (made) => resume(Effect.succeedSome(made)))
  })
