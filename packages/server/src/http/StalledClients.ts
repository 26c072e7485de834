import { Duration } from "effect"
import type { IncomingMessage, Server, ServerResponse } from "node:http"

export interface StallLimits {
  /** Time for the rest of a request after its response. */
  readonly request: Duration.Duration
  /** Time for a client to accept more bytes of a response. */
  readonly response: Duration.Duration
}

export const defaultStallLimits: StallLimits = { request: Duration.seconds(30), response: Duration.minutes(2) }

/** Destroys connections of clients that stop reading, or do not finish an already answered request. */
export const cutStalledClients = (server: Server, limits: StallLimits): void => {
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    // With a callback, Node keeps idle connections: without unsent bytes, the response is still in progress.
    response.setTimeout(Duration.toMillis(limits.response), () => {
      if (request.socket.writableLength > 0) request.socket.destroy()
    })
    response.once("finish", () => {
      if (request.complete) return
      const cut = setTimeout(() => request.socket.destroy(), Duration.toMillis(limits.request)).unref()
      request.once("end", () => clearTimeout(cut)).once("close", () => clearTimeout(cut))
    })
  })
}
