import { makeRetryAfterHeader, retrySoon } from "@berth/api/limits/RateLimits"
import { ServiceUnavailable, ServiceUnavailableBody } from "@berth/api/http/TransportErrors"
import { HttpApiSchema } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Duration, Effect, Layer, Schema } from "effect"
import { createServer, type IncomingMessage, maxHeaderSize, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { recordExchanges } from "./Exchanges.ts"
import { lingerOnClose } from "./LingeringClose.ts"
import { handleParserErrors } from "./ParserErrors.ts"
import { normalizeTarget } from "./RequestTarget.ts"
import { cutStalledClients, defaultStallLimits, type StallLimits } from "./StalledClients.ts"
import * as WebSocketUpgrade from "./WebSocketUpgrade.ts"

export interface HttpListenerOptions {
  readonly host: string
  readonly port: number
  /** Time that requests in flight have to finish once the listener closes. */
  readonly drain: Duration.Duration
  /** Time for a request's headers, and for the whole request, to arrive; 20 s and 10 minutes when absent. */
  readonly arrival?: { readonly headers: Duration.Duration; readonly whole: Duration.Duration }
  /** Limits for clients that stop sending or reading; 30 s and 2 minutes when absent. */
  readonly stall?: StallLimits
  /** Whether spans are exported; true when absent. Without an exporter, requests have plain spans. */
  readonly sendsSpans?: boolean
  /** Runs before every request. */
  readonly prepare?: (request: IncomingMessage) => void
}

// Bodies have their own limits: this one ends uploads that keep the minimum rate.
const defaultArrival = { headers: Duration.seconds(20), whole: Duration.minutes(10) }

/** Matches paths as the route table does; a parameter can be as long as a request line. */
export const routerConfig = { ignoreTrailingSlash: true, caseSensitive: true, maxParamLength: maxHeaderSize }

const startingBody = JSON.stringify(Schema.encodeSync(ServiceUnavailableBody)(new ServiceUnavailable()))

/** Listeners for requests that the server has without its routes. */
const listenersWithoutRoutes = 3

/** Responds 503 before the routes are added and after they are removed; such requests would hang. */
const answerBeforeRoutes = (server: Server, prepare: (request: IncomingMessage) => void) => {
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    normalizeTarget(request)
    prepare(request)
    if (server.listenerCount("request") > listenersWithoutRoutes) return
    response
      .writeHead(HttpApiSchema.getStatusError(ServiceUnavailableBody), {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(startingBody),
        ...makeRetryAfterHeader(retrySoon),
        connection: "close"
      })
      .end(startingBody)
  })
}

/** Destroys all open connections, upgraded ones included, which `closeAllConnections` does not track. */
const destroyConnections = (server: Server) => {
  const open = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    if (open.has(socket)) return
    open.add(socket)
    socket.once("close", () => open.delete(socket))
  })
  return () => {
    for (const socket of open) socket.destroy()
  }
}

/** An HTTP listener. On closing it accepts no connections, lets requests in flight finish, and destroys them at the drain limit. */
export const layer = (options: HttpListenerOptions) => Layer.suspend(() => make(options))

const make = ({
  arrival = defaultArrival,
  drain,
  host,
  port,
  prepare = () => undefined,
  stall = defaultStallLimits
}: HttpListenerOptions) => {
  const headersTimeout = Duration.toMillis(arrival.headers)
  const server = createServer({
    requestTimeout: Duration.toMillis(arrival.whole),
    headersTimeout,
    // Check interval of both timeouts; Node's default is 30 s.
    connectionsCheckingInterval: Math.min(5000, headersTimeout),
    keepAliveTimeout: 10_000,
    // The pipeline responds in JSON.
    requireHostHeader: false
  })
  // Node would drop headers over the count, such as a length or a second host; their size is limited.
  server.maxHeadersCount = 0
  answerBeforeRoutes(server, prepare)
  recordExchanges(server)
  cutStalledClients(server, stall)
  lingerOnClose(server)
  const cutConnections = destroyConnections(server)
  const drainLimit = Layer.scopedDiscard(
    Effect.addFinalizer(() =>
      Effect.sync(() => {
        setTimeout(cutConnections, Duration.toMillis(drain)).unref()
      })
    )
  )
  // The limit is built after the server, so that its clock starts before the server begins to close.
  return drainLimit.pipe(
    Layer.provideMerge(WebSocketUpgrade.layer(server)),
    Layer.provideMerge(NodeHttpServer.layer(() => server, { host, port })),
    Layer.provideMerge(Layer.effectDiscard(handleParserErrors(server)))
  )
}
