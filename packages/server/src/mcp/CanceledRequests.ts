import { Schema } from "effect"

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
