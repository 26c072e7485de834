import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The newest exchange of each connection. */
const exchanges = new WeakMap<Duplex, Exchange>()

/** Records the exchanges of a server, for `newestExchange`. */
export const recordExchanges = (server: Server): void => {
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    exchanges.set(request.socket, { request, response })
  })
}

/** The request that was read last on a connection, with its response; undefined before the first one. */
export const newestExchange = (socket: Duplex): Exchange | undefined => exchanges.get(socket)
