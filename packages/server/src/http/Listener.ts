import { ServiceIsUnavailable, ServiceIsUnavailableBody } from "@berth/api/http/TransportErrors"
import { HttpApiSchema } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Duration, Effect, Layer, Schema } from "effect"
import { createServer, type IncomingMessage, maxHeaderSize, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { recordExchanges } from "./Exchanges.ts"
import { answerParserErrors } from "./ParserErrors.ts"
import * as Upgrades from "./Upgrades.ts"

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  /** How long requests in flight may take once the listener closes. */
  readonly drain: Duration.Duration
  /** How long a request's headers, and then the whole of it, may take to arrive; 20 s and 60 s. */
  readonly arrival?: { readonly headers: Duration.Duration; readonly whole: Duration.Duration }
  /** Whether a collector gets the spans; true when absent. Where none does, requests have plain ones. */
  readonly sendsSpans?: boolean
  /** Done with every request before anything else is. */
  readonly prepare?: (request: IncomingMessage) => void
}

const usualArrival = { headers: Duration.seconds(20), whole: Duration.seconds(60) }

/** How paths find their routes. An id may be as long as a request line: what is too long to be one names nothing, as any other does. */
export const routerConfig = { ignoreTrailingSlash: true, maxParamLength: maxHeaderSize }

const starting = JSON.stringify(Schema.encodeSync(ServiceIsUnavailableBody)(new ServiceIsUnavailable()))

/** This one, and the one that records exchanges. */
const listenersWithoutRoutes = 2

/** Answers what arrives before the routes are there or after they have gone; without it such a request would hang. */
const answerWithoutRoutes = (server: Server, prepare: (request: IncomingMessage) => void) => {
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    prepare(request)
    if (server.listenerCount("request") > listenersWithoutRoutes) return
    response
      .writeHead(HttpApiSchema.getStatusError(ServiceIsUnavailableBody), {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(starting),
        "retry-after": "1",
        connection: "close"
      })
      .end(starting)
  })
}

/** Destroys the connections that are open, those that no longer belong to the HTTP parser too: `closeAllConnections` does not know them. */
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

/** An HTTP listener that, on closing, takes no more connections, lets requests in flight finish, and cuts them at the drain limit. */
export const layer = (options: ListenerOptions) => Layer.suspend(() => make(options))

const make = ({ arrival = usualArrival, drain, host, port, prepare = () => undefined }: ListenerOptions) => {
  const headersTimeout = Duration.toMillis(arrival.headers)
  const server = createServer({
    requestTimeout: Duration.toMillis(arrival.whole),
    headersTimeout,
    // How often the two are looked at; Node's 30 s would make them half a minute late.
    connectionsCheckingInterval: Math.min(5000, headersTimeout),
    keepAliveTimeout: 10_000,
    // The rules for every request say it in JSON.
    requireHostHeader: false
  })
  // Their size is limited; Node drops those over a number, and a length or a second host could be among them.
  server.maxHeadersCount = 0
  answerWithoutRoutes(server, prepare)
  recordExchanges(server)
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
    Layer.provideMerge(Upgrades.layer(server)),
    Layer.provideMerge(NodeHttpServer.layer(() => server, { host, port })),
    Layer.provideMerge(Layer.effectDiscard(answerParserErrors(server)))
  )
}
