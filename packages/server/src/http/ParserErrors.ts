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
import { Duration, Effect, Option, Predicate, Runtime } from "effect"
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { inEnvelope } from "./ErrorEnvelope.ts"
import { errorResponse } from "./ErrorResponse.ts"
import { securityHeaders } from "./SecurityHeaders.ts"

/** What a client is told of bytes that the parser refused, by the parser's code. */
export const refusalOf = (code: string | undefined): HttpServerResponse.HttpServerResponse => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return errorResponse(HeadersAreTooLargeBody, new HeadersAreTooLarge())
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return errorResponse(RequestTookTooLongBody, new RequestTookTooLong())
    default:
      return errorResponse(RequestIsMalformedBody, new RequestIsMalformed())
  }
}

const codeOf = (error: unknown) =>
  Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? error.code : undefined

/** Time for the answer to arrive before the connection is cut, whatever the client still sends. */
const farewell = Duration.seconds(1)

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
    const answering = new WeakMap<Duplex, ServerResponse>()

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
      if (!socket.writable) return
      socket.end(bytesOf(response))
      // What still comes is thrown away: a connection closed over unread bytes takes the answer with it.
      socket.resume()
      setTimeout(() => socket.destroy(), Duration.toMillis(farewell)).unref()
    }

    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      answering.set(request.socket, response)
    })
    server.on("clientError", (error: Error, socket: Duplex) => {
      socket.on("error", () => socket.destroy())
      const begun = answering.get(socket)
      const isMidAnswer = begun !== undefined && begun.headersSent && !begun.writableFinished
      const code = codeOf(error)
      if (code === "ECONNRESET" || !socket.writable || isMidAnswer) {
        socket.destroy()
        return
      }
      refuse(refusalOf(code), code ?? "unknown", sendTo(socket))
    })
    server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
      socket.on("error", () => socket.destroy())
      refuse(refusalOf(undefined), "CONNECT", sendTo(socket))
    })
    server.on("checkExpectation", (request: IncomingMessage) => {
      refuse(errorResponse(ExpectationFailedBody, new ExpectationFailed()), "Expect", sendTo(request.socket))
    })
  })
