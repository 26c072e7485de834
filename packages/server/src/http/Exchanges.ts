import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { safeMethods } from "./OriginPolicy.ts"

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

interface OrderedExchange extends Exchange {
  /** Response that must end before the request is processed. */
  readonly precededBy: ServerResponse | undefined
}

/** The newest exchange of each connection. */
const exchanges = new WeakMap<Duplex, OrderedExchange>()

const isSafe = ({ method = "" }: IncomingMessage) => safeMethods.has(method)

/** Only safe requests are processed concurrently (RFC 9112, section 9.3.2). */
const findPreceding = (request: IncomingMessage, before: OrderedExchange | undefined) => {
  const isBeside = before !== undefined && isSafe(request) && isSafe(before.request)
  const response = isBeside ? before.precededBy : before?.response
  return response?.closed === true ? undefined : response
}

/** Responses of each connection that wait for an earlier response. */
const waiting = new WeakMap<Duplex, Set<ServerResponse>>()

/** On a lost connection, Node closes only the response being written. */
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
    const precededBy = findPreceding(request, exchanges.get(request.socket))
    exchanges.set(request.socket, { request, response, precededBy })
    if (response.socket === null) recordWaiting(request, response)
  })
}

/** Returns the last request read on a connection, with its response; undefined before the first. */
export const newestExchange = (socket: Duplex): Exchange | undefined => exchanges.get(socket)

/** Runs after the end of a response, but never after the last response of its connection (RFC 9112, section 9.6). */
export const runBehind = (before: ServerResponse | undefined, socket: Duplex, run: () => void): void => {
  if (before === undefined || before.closed) run()
  else
    before.once("close", () => {
      if (socket.writable) run()
    })
}

/** Processes the newest request of a connection in order. */
export const runInTurn = ({ socket }: IncomingMessage, run: () => void): void =>
  runBehind(exchanges.get(socket)?.precededBy, socket, run)
