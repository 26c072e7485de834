import { ServiceIsUnavailable, ServiceIsUnavailableBody } from "@berth/api/http/TransportErrors"
import { HttpApiSchema } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Duration, Effect, Layer, Schema } from "effect"
import * as Upgrades from "./Upgrades.ts"
import { createServer, type IncomingMessage, maxHeaderSize, type Server, type ServerResponse } from "node:http"

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  /** How long requests in flight may take once the listener closes. */
  readonly drain: Duration.Duration
  /** Done with every request before anything else is. */
  readonly prepare?: (request: IncomingMessage) => void
}

/** How paths find their routes. An id may be as long as a request line: what is too long to be one names nothing, as any other does. */
export const routerConfig = { ignoreTrailingSlash: true, maxParamLength: maxHeaderSize }

const starting = JSON.stringify(Schema.encodeSync(ServiceIsUnavailableBody)(new ServiceIsUnavailable()))

/** Answers what arrives before the routes are there or after they have gone; without it such a request would hang. */
const answerWithoutRoutes = (server: Server, prepare: (request: IncomingMessage) => void) => {
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    prepare(request)
    if (server.listenerCount("request") > 1) return
    response
      .writeHead(HttpApiSchema.getStatusError(ServiceIsUnavailableBody), {
        "content-type": "application/json",
        "retry-after": "1",
        connection: "close"
      })
      .end(starting)
  })
}

/** An HTTP listener that, on closing, takes no more connections, lets requests in flight finish, and cuts them at the drain limit. */
export const layer = ({ drain, host, port, prepare = () => undefined }: ListenerOptions) => {
  const server = createServer({ requestTimeout: 60_000, headersTimeout: 20_000, keepAliveTimeout: 10_000 })
  answerWithoutRoutes(server, prepare)
  const drainLimit = Layer.scopedDiscard(
    Effect.addFinalizer(() =>
      Effect.sync(() => {
        setTimeout(() => server.closeAllConnections(), Duration.toMillis(drain)).unref()
      })
    )
  )
  // The limit is built after the server, so that its clock starts before the server begins to close.
  return drainLimit.pipe(
    Layer.provideMerge(Upgrades.layer(server)),
    Layer.provideMerge(NodeHttpServer.layer(() => server, { host, port }))
  )
}
