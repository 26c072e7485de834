import { Schema } from "effect"
import { encodeSseEvent } from "../http/Sse.ts"
import { ChatAnswer } from "./AiApi.ts"

const ChatDeltaEvent = Schema.Struct({ text: Schema.String })
/** The last event: the complete answer and its cost. */
const ChatDoneEvent = Schema.Struct({
  ...ChatAnswer.fields,
  costUsd: Schema.Number.annotations({ description: "US dollars, by catalog prices" })
})
/** The last event of a failed answer: the error body. */
const ChatErrorEvent = Schema.Struct({
  error: Schema.String,
  message: Schema.String,
  code: Schema.String,
  traceId: Schema.optional(Schema.String)
})

const encodeDelta = Schema.encodeSync(Schema.parseJson(ChatDeltaEvent))
const encodeDone = Schema.encodeSync(Schema.parseJson(ChatDoneEvent))
const encodeBroken = Schema.encodeSync(Schema.parseJson(ChatErrorEvent))

/** Server-sent events of POST /api/ai/chat. */
export const chatEventFrames = {
  delta: (text: string): string => encodeSseEvent({ event: "delta", data: encodeDelta({ text }) }),
  done: (answer: typeof ChatDoneEvent.Type): string => encodeSseEvent({ event: "done", data: encodeDone(answer) }),
  error: (failure: typeof ChatErrorEvent.Type): string =>
    encodeSseEvent({ event: "error", data: encodeBroken(failure) })
}
