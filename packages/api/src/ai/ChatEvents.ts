import { Schema } from "effect"
import { ChatAnswer } from "./AiApi.ts"

/** A piece of the answer. */
export const ChatDelta = Schema.Struct({ text: Schema.String })
/** The last event of an answer that came to its end: what the answer in one piece would have been, and its cost. */
export const ChatDone = Schema.Struct({
  ...ChatAnswer.fields,
  costUsd: Schema.Number.annotations({ description: "US dollars, by the catalogue's prices" })
})
/** The last event of one that broke off. */
export const ChatBroken = Schema.Struct({ error: Schema.String, message: Schema.String, code: Schema.String })

const frame = (event: string, data: string) => `event: ${event}\ndata: ${data}\n\n`

const encodeDelta = Schema.encodeSync(Schema.parseJson(ChatDelta))
const encodeDone = Schema.encodeSync(Schema.parseJson(ChatDone))
const encodeBroken = Schema.encodeSync(Schema.parseJson(ChatBroken))

/** The events of a streamed POST /api/ai/chat as server-sent events. */
export const chatEventFrames = {
  delta: (text: string): string => frame("delta", encodeDelta({ text })),
  done: (answer: typeof ChatDone.Type): string => frame("done", encodeDone(answer)),
  error: (failure: typeof ChatBroken.Type): string => frame("error", encodeBroken(failure))
}
