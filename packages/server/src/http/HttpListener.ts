import { makeRetryAfterHeader, retrySoon } from "@berth/api/limits/RateLimits"
import { ServiceUnavailable, ServiceUnavailableBody } from "@berth/api/http/TransportErrors"
import { HttpApiSchema, type HttpLayerRouter, HttpServerError } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Deferred, Duration, Effect, FiberId, Layer, Runtime, Schema } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import * as DetachedWork from "./DetachedWork.ts"
import { ListenerRequest } from "./ListenerRequest.ts"
import type { Pipeline } from "./HttpPipeline.ts"
import { recordExchanges, runInTurn } from "./Exchanges.ts"
import { lingerOnClose } from "./LingeringClose.ts"
import { handleParserErrors } from "./ParserErrors.ts"
import { normalizeTarget } from "./RequestTarget.ts"
import { cutStalledClients, defaultStallLimits, type StallLimits } from "./StalledClients.ts"
import * as RequestRouter from "./RequestRouter.ts"
import { makeRequestScheduler } from "./RequestScheduler.ts"
import { emitHandshakes } from "./WebSocketUpgrade.ts"

export interface HttpListenerOptions {
  readonly host: string
  readonly port: number
  /** Time for requests in flight to finish after the listener closes. */
  readonly drain: Duration.Duration
  /** Time limits of a request's headers and of the complete request; default: 20 s and 10 minutes. */
  readonly arrival?: { readonly headers: Duration.Duration; readonly whole: Duration.Duration }
  /** Limits for clients that stop sending or reading; default: 30 s and 2 minutes. */
  readonly stall?: StallLimits
  /** Whether spans are exported; default: true. Without an exporter, requests have plain spans. */
  readonly sendsSpans?: boolean
  /** Runs before every request. */
  readonly prepare?: (request: IncomingMessage) => void
}

// Bodies have separate limits; this one ends uploads that keep the minimum rate.
const defaultArrival = { headers: Duration.seconds(20), whole: Duration.minutes(10) }

const startingBody = JSON.stringify(Schema.encodeSync(ServiceUnavailableBody)(new ServiceUnavailable()))

/** Number of request listeners of a server without routes. */
const listenersWithoutRoutes = 3

/** Responds with 503 while no routes are installed; such requests would hang. */
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

/** The pipeline sends the 100 when a handler reads the body, since a final status may replace it. */
const deferContinue = (server: Server) => {
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) =>
    server.emit("request", request, response)
  )
}

/** Destroys all open connections, including upgraded ones, which `closeAllConnections` does not track. */
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

/**
 * An HTTP listener. Closing stops accepting connections, lets requests in flight finish, and destroys them at the drain
 * limit.
 */
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
  // Node drops headers above the count, possibly a length or a second host; their size is limited separately.
  server.maxHeadersCount = 0
  answerBeforeRoutes(server, prepare)
  deferContinue(server)
  recordExchanges(server)
  cutStalledClients(server, stall)
  lingerOnClose(server)
  const cutConnections = destroyConnections(server)
  const drained = Deferred.unsafeMake<void>(FiberId.none)
  const endDrain = () => {
    cutConnections()
    Deferred.unsafeDone(drained, Effect.void)
  }
  const drainLimit = Layer.scopedDiscard(
    Effect.addFinalizer(() =>
      Effect.sync(() => {
        // Node closes connections only if they are idle when the server closes; 0 would keep the others open.
        server.keepAliveTimeout = 1
        setTimeout(endDrain, Duration.toMillis(drain)).unref()
      })
    )
  )
  // Built after the server, so that the limit's clock starts before the server closes.
  return drainLimit.pipe(
    Layer.provideMerge(Layer.succeed(ListenerServer, server)),
    Layer.provideMerge(NodeHttpServer.layer(() => server, { host, port })),
    Layer.provideMerge(Layer.effectDiscard(handleParserErrors(server))),
    Layer.provideMerge(DetachedWork.layer(drained))
  )
}

class ListenerServer extends Context.Tag("@berth/ListenerServer")<ListenerServer, Server>() {}

/** Runs one fiber per request until the scope closes; a disconnected client interrupts the handler. */
const runPipeline = Effect.fnUntraced(function* (pipeline: Pipeline) {
  const server = yield* ListenerServer
  const { fiberRefs, runtimeFlags } = yield* Effect.runtime<never>()
  // The pipeline sets the services of a request; handlers provide those of their layers.
  const context = Context.unsafeMake<unknown>(new Map())
  const run = Runtime.runFork(Runtime.make({ context, fiberRefs, runtimeFlags }))
  const scheduler = makeRequestScheduler()
  const answer = (incoming: IncomingMessage, response: ServerResponse) => {
    scheduler.add()
    const fiber = run(Effect.uninterruptible(pipeline(new ListenerRequest(incoming, response))), {
      scheduler,
      immediate: false
    })
    response.on("close", () => {
      scheduler.remove()
      if (!response.writableEnded) fiber.unsafeInterruptAsFork(HttpServerError.clientAbortFiberId)
    })
  }
  const onRequest = (incoming: IncomingMessage, response: ServerResponse) =>
    runInTurn(incoming, () => answer(incoming, response))
  yield* Effect.acquireRelease(
    Effect.sync(() => server.on("request", onRequest)),
    () => Effect.sync(() => server.off("request", onRequest))
  )
  yield* emitHandshakes(server)
})

/** Handles the requests of a listener by a pipeline. */
export const servePipeline = (pipeline: Pipeline) => Layer.scopedDiscard(runPipeline(pipeline))

/** Serves routes through a pipeline. Fresh, since listeners must not share a router. */
export const serve = <E, R, P>(
  routes: Layer.Layer<never, E, R | HttpLayerRouter.HttpRouter>,
  pipeline: Effect.Effect<Pipeline, never, P>
) =>
  Layer.fresh(
    Layer.scopedDiscard(Effect.flatMap(pipeline, runPipeline)).pipe(
      Layer.provide(routes),
      Layer.provide(RequestRouter.layer)
    )
  )
