import {
  ExpectationFailed,
  ExpectationFailedBody,
  HeadersTooLarge,
  HeadersTooLargeBody,
  RequestMalformed,
  RequestMalformedBody,
  RequestTimeout,
  RequestTimeoutBody
} from "@berth/api/http/TransportErrors"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { HttpServerResponse } from "@effect/platform"
import { Clock, Effect, Option, Predicate, Runtime } from "effect"
import { type IncomingMessage, type Server, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { wrapErrorBody } from "./ErrorEnvelope.ts"
import { makeErrorResponse } from "./ErrorResponse.ts"
import { newestExchange, runBehind } from "./Exchanges.ts"
import { securityHeaders } from "./SecurityHeaders.ts"
import { endSocket } from "./SocketEnd.ts"

const toParserErrorResponse = (code: string | undefined): HttpServerResponse.HttpServerResponse => {
  if (code === "HPE_HEADER_OVERFLOW") return makeErrorResponse(HeadersTooLargeBody, new HeadersTooLarge())
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return makeErrorResponse(RequestTimeoutBody, new RequestTimeout())
  return makeErrorResponse(RequestMalformedBody, new RequestMalformed())
}

const codeOf = (error: unknown) =>
  Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? error.code : undefined

const bytesOf = ({ body, headers, status }: HttpServerResponse.HttpServerResponse): Buffer => {
  const content = body._tag === "Uint8Array" ? body.body : new Uint8Array()
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    ...Object.entries({
      ...headers,
      "content-type": "application/json",
      "content-length": String(content.length),
      connection: "close"
    }).map(([name, value]) => `${name}: ${value}`)
  ].join("\r\n")
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "latin1"), content])
}

/** A request that cannot be parsed has no method. The listeners accept HTTP only. */
const refusedAttributes = { "http.request.method": "_OTHER", "url.scheme": "http" }

/**
 * Responds to malformed bytes, large or slow headers, CONNECT and unsupported `Expect`; Node's own responses have no
 * body.
 */
export const handleParserErrors = Effect.fnUntraced(function* (
  server: Server
): Effect.fn.Return<void, never, IdGenerator> {
  const runtime = yield* Effect.runtime<IdGenerator>()

  const refuse = (
    refusal: HttpServerResponse.HttpServerResponse,
    reason: string,
    send: (response: HttpServerResponse.HttpServerResponse) => void
  ) => {
    Runtime.runFork(runtime)(
      Effect.gen(function* () {
        const requestId = yield* (yield* IdGenerator).next("req")
        const date = new Date(yield* Clock.currentTimeMillis).toUTCString()
        const { traceId } = yield* Effect.orDie(Effect.currentSpan)
        const response = wrapErrorBody(refusal, {}, Option.some(traceId))
        yield* Effect.annotateCurrentSpan("http.response.status_code", response.status)
        yield* Effect.logInfo("Request").pipe(Effect.annotateLogs({ status: response.status, reason, requestId }))
        send({ ...response, headers: { ...response.headers, ...securityHeaders, date, "x-request-id": requestId } })
      }).pipe(Effect.withSpan("http.server refused", { kind: "server", root: true, attributes: refusedAttributes }))
    )
  }

  const sendTo = (socket: Duplex) => (response: HttpServerResponse.HttpServerResponse) => {
    if (socket.writable) endSocket(socket, bytesOf(response))
    else socket.destroy()
  }

  const refuseInTurn = (refusal: HttpServerResponse.HttpServerResponse, reason: string, socket: Duplex) =>
    runBehind(newestExchange(socket)?.response, socket, () => refuse(refusal, reason, sendTo(socket)))

  server.on("clientError", (error: Error, socket: Duplex) => {
    socket.on("error", () => socket.destroy())
    const code = codeOf(error)
    const open = newestExchange(socket)
    const isAnswered = open === undefined || open.response.writableFinished
    // The error is in an incomplete request that has a response; a second response would answer the client's next
    // request.
    const hasResponse = () => open !== undefined && !open.request.complete && open.response.headersSent
    const answer = () =>
      refuse(toParserErrorResponse(code), code ?? "unknown", (response) =>
        hasResponse() ? endSocket(socket) : sendTo(socket)(response)
      )
    if (code === "ECONNRESET" || !socket.writable) socket.destroy()
    else if (hasResponse()) endSocket(socket)
    else if (isAnswered) answer()
    // A complete request is answered first, since the error follows it.
    else if (open.request.complete) open.response.once("finish", answer)
    else answer()
  })
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy())
    refuseInTurn(toParserErrorResponse(undefined), "CONNECT", socket)
  })
  server.on("checkExpectation", ({ socket }: IncomingMessage) =>
    refuseInTurn(makeErrorResponse(ExpectationFailedBody, new ExpectationFailed()), "Expect", socket)
  )
})
