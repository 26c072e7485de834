import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The newest exchange of each connection. */
const exchanges = new WeakMap<Duplex, Exchange>()

/** The responses of each connection that wait for an earlier one. */
const waiting = new WeakMap<Duplex, Set<ServerResponse>>()

/** Node closes only the response that a lost connection was writing. */
const closeWaiting = (responses: ReadonlySet<ServerResponse>) => {
  for (const response of responses) if (response.socket === null) response.destroy().emit("close")
}

const recordWaiting = ({ socket }: IncomingMessage, response: ServerResponse) => {
  const responses = waiting.get(socket) ?? new Set()
  if (!waiting.has(socket)) socket.once("close", () => closeWaiting(responses))
  waiting.set(socket, responses.add(response))
  response.once("close", () => responses.delete(response))
}

/** Records the exchanges of a server, for `newestExchange`. A lost connection closes all its responses. */
export const recordExchanges = (server: Server): void => {
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    exchanges.set(request.socket, { request, response })
    if (response.socket === null) recordWaiting(request, response)
  })
}

/** The request that was read last on a connection, with its response; undefined before the first one. */
export const newestExchange = (socket: Duplex): Exchange | undefined => exchanges.get(socket)
