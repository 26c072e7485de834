import { Cookies, HttpServerError, type HttpServerResponse } from "@effect/platform"
import { Cause, Effect, Stream } from "effect"
import type { ServerResponse } from "node:http"
import type { ListenerRequest } from "./ListenerRequest.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Bodies that write directly to the response, without stages of a stream. */
const selfWriting = new WeakMap<object, Effect.Effect<void>>()

/** Makes a stream whose only effect writes the body to the response of the request. */
export const makeSelfWritingStream = (write: Effect.Effect<void>): Stream.Stream<never> => {
  const stream = Stream.execute(write)
  selfWriting.set(stream, write)
  return stream
}

const toHeaders = (
  { cookies }: Response,
  headers: Readonly<Record<string, string>>
): Record<string, string | Array<string>> =>
  Cookies.isEmpty(cookies)
    ? headers
    : {
        ...headers,
        "set-cookie": [
          ...Cookies.toSetCookieHeaders(cookies),
          ...(headers["set-cookie"] === undefined ? [] : [headers["set-cookie"]])
        ]
      }

/** Completes after the bytes are handed to the operating system, or the connection is lost. */
const endWith = (target: ServerResponse, bytes?: Uint8Array) =>
  Effect.suspend(() => {
    if (target.destroyed) return Effect.void
    if (bytes === undefined) target.end()
    else target.end(bytes)
    // A response to an earlier request of the connection may still own the socket.
    if (target.socket?.writableLength === 0) return Effect.void
    return Effect.async<void>((resume) => {
      target.once("close", () => resume(Effect.void))
    })
  })

/** Waits until the client has read what was written. */
export const awaitDrain = (target: ServerResponse) =>
  Effect.async<void>((resume) => {
    const onDrain = () => resume(Effect.void)
    target.once("drain", onDrain)
    return Effect.sync(() => target.off("drain", onDrain))
  })

const writeStream = (target: ServerResponse, stream: Stream.Stream<Uint8Array, unknown>) =>
  selfWriting.get(stream) ??
  Stream.runForEach(Stream.orDie(stream), (bytes) => (target.write(bytes) ? Effect.void : awaitDrain(target)))

/** A body that fails midway closes its connection, since the end of the response would mark it as complete. */
const untilEnd = (target: ServerResponse, write: Effect.Effect<void>) =>
  Effect.matchCauseEffect(Effect.interruptible(write), {
    onSuccess: () => Effect.sync(() => void target.end()),
    onFailure: (cause) =>
      Effect.zipRight(
        Effect.sync(() => (target.socket === null ? void target.destroy() : target.socket.destroySoon())),
        Effect.failCause(cause)
      )
  })

/** Writes a response with these headers, by default its own. */
export const writeResponse = (
  { method, response: target }: ListenerRequest,
  response: Response,
  headers: Readonly<Record<string, string>> = response.headers
): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (target.writableEnded) return Effect.void
    const { body } = response
    target.writeHead(response.status, toHeaders(response, headers))
    if (method === "HEAD") return endWith(target)
    switch (body._tag) {
      case "Uint8Array":
        return endWith(target, body.body)
      case "Stream":
        return untilEnd(target, writeStream(target, body.stream))
      case "Empty":
        target.end()
        return Effect.void
      case "Raw":
      case "FormData":
        return Effect.dieMessage(`A response with a ${body._tag} body`)
    }
  })

/** Responds for a handler that ended without a response: its client has disconnected, or the listener is closing. */
export const writeFailure = (request: ListenerRequest, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.flatMap(HttpServerError.causeResponse(cause), ([response, rest]) => {
    const { response: target } = request
    const sent = Effect.sync(() => {
      if (!target.headersSent) target.writeHead(response.status)
      if (!target.writableEnded) target.end()
    })
    return Cause.isEmpty(rest) ? sent : Effect.zipRight(sent, Effect.logDebug("Request failed", rest))
  })
