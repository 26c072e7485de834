import type { HttpServerRequest } from "@effect/platform"
import { Predicate, Schema, Stream, Struct } from "effect"

const passedHeaders = ["accept", "content-type", "mcp-protocol-version"]

/** Converts a request for a transport that requires Web-standard requests; its body is already parsed. */
export const toWebRequest = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  new Request("http://localhost/mcp", {
    method: "POST",
    headers: passedHeaders.flatMap((name): Array<[string, string]> => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value]]
    })
  })

/** Reads the text of a body; an interrupted body ends. */
export const readTextStream = (body: ReadableStream<Uint8Array>) =>
  Stream.fromReadableStream(
    () => body,
    (cause) => cause
  ).pipe(
    Stream.decodeText(),
    Stream.catchAll(() => Stream.empty)
  )

const Cancellation = Schema.Struct({
  method: Schema.Literal("notifications/cancelled"),
  params: Schema.Struct({ requestId: Schema.Union(Schema.String, Schema.Int) })
})
const isCancellation = Schema.is(Cancellation)
const isRequest = Schema.is(Schema.Struct({ id: Cancellation.fields.params.fields.requestId, method: Schema.String }))

/** Removes requests that the batch itself cancels: they receive no response, and the stream would not end. */
export const withoutCanceled = (body: unknown): unknown => {
  if (!Array.isArray(body)) return body
  const messages: ReadonlyArray<unknown> = body
  const canceled = new Set(messages.filter(isCancellation).map(({ params }) => params.requestId))
  return messages.filter((message) => !(isRequest(message) && canceled.has(message.id)))
}

const ignoreTask = (message: unknown): unknown =>
  Predicate.isRecord(message) && Predicate.isRecord(message["params"])
    ? { ...message, params: Struct.omit(message["params"], "task") }
    : message

/** Removes requests for tasks, which a server without tasks ignores and the library refuses. */
export const withoutTasks = (body: unknown): unknown => (Array.isArray(body) ? body.map(ignoreTask) : ignoreTask(body))
