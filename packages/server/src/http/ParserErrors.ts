import {
  ExpectationFailed,
  ExpectationFailedBody,
  HeadersAreTooLarge,
  HeadersAreTooLargeBody,
  RequestIsMalformed,
  RequestIsMalformedBody,
  RequestTookTooLong,
  RequestTookTooLongBody
} from "@berth/api/http/TransportErrors"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { HttpServerResponse } from "@effect/platform"
import { Effect, Option, Predicate, Runtime } from "effect"
import { type IncomingMessage, type Server, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { inEnvelope } from "./ErrorEnvelope.ts"
import { errorResponse } from "./ErrorResponse.ts"
import { newestExchange } from "./Exchanges.ts"
import { securityHeaders } from "./SecurityHeaders.ts"
import { endSocket } from "./SocketEnd.ts"

/** What a client is told of bytes that the parser refused, by the parser's code. */
export const refusalOf = (code: string | undefined): HttpServerResponse.HttpServerResponse => {
  if (code === "HPE_HEADER_OVERFLOW") return errorResponse(HeadersAreTooLargeBody, new HeadersAreTooLarge())
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return errorResponse(RequestTookTooLongBody, new RequestTookTooLong())
  return errorResponse(RequestIsMalformedBody, new RequestIsMalformed())
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

/**
 * Answers what never becomes a request: bytes that are no HTTP, headers that are too large or too slow, CONNECT, and an `Expect`
 * that nobody can meet. Node answers these without a body.
 */
export const answerParserErrors = (server: Server): Effect.Effect<void, never, IdGenerator> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<IdGenerator>()

    const refuse = (
      refusal: HttpServerResponse.HttpServerResponse,
      reason: string,
      send: (response: HttpServerResponse.HttpServerResponse) => void
    ) => {
      Runtime.runFork(runtime)(
        Effect.gen(function* () {
          const requestId = yield* (yield* IdGenerator).next("req")
          const { traceId } = yield* Effect.orDie(Effect.currentSpan)
          const response = inEnvelope(refusal, {}, Option.some(traceId))
          yield* Effect.logInfo("Request").pipe(Effect.annotateLogs({ status: response.status, reason, requestId }))
          send({ ...response, headers: { ...response.headers, ...securityHeaders, "x-request-id": requestId } })
        }).pipe(Effect.withSpan("http.server refused", { kind: "server", root: true }))
      )
    }

    const sendTo = (socket: Duplex) => (response: HttpServerResponse.HttpServerResponse) => {
      if (socket.writable) endSocket(socket, bytesOf(response))
      else socket.destroy()
    }

    server.on("clientError", (error: Error, socket: Duplex) => {
      socket.on("error", () => socket.destroy())
      const code = codeOf(error)
      const answer = () => refuse(refusalOf(code), code ?? "unknown", sendTo(socket))
      const open = newestExchange(socket)
      const isAnswered = open === undefined || open.response.writableFinished
      if (code === "ECONNRESET" || !socket.writable) socket.destroy()
      else if (isAnswered) answer()
      // A request that has arrived is answered first: what is wrong came after it.
      else if (open.request.complete) open.response.once("finish", answer)
      // What is wrong is in a request that is being answered already: there is nothing more to say.
      else if (open.response.headersSent) socket.destroy()
      else answer()
    })
    server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
      socket.on("error", () => socket.destroy())
      refuse(refusalOf(undefined), "CONNECT", sendTo(socket))
    })
    server.on("checkExpectation", (request: IncomingMessage) => {
      refuse(errorResponse(ExpectationFailedBody, new ExpectationFailed()), "Expect", sendTo(request.socket))
    })
  })
