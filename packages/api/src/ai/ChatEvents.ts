import { Schema } from "effect"
import { encodeSseEvent } from "../http/Sse.ts"
import { ChatAnswer } from "./AiApi.ts"

const ErrorEvent = Schema.Struct({
  error: Schema.String,
  message: Schema.String,
  code: Schema.String,
  traceId: Schema.optional(Schema.String)
})

const encodeText = Schema.encodeSync(Schema.parseJson(Schema.Struct({ text: Schema.String })))
const encodeError = Schema.encodeSync(Schema.parseJson(ErrorEvent))

/** Makes the server-sent events of an answer: deltas, then `done` or `error`. */
export const makeAnswerFrames = <A, I>(done: Schema.Schema<A, I>) => {
  const encodeDone = Schema.encodeSync(Schema.parseJson(done))
  return {
    delta: (text: string): string => encodeSseEvent({ event: "delta", data: encodeText({ text }) }),
    done: (answer: A): string => encodeSseEvent({ event: "done", data: encodeDone(answer) }),
    error: (failure: typeof ErrorEvent.Type): string => encodeSseEvent({ event: "error", data: encodeError(failure) })
  }
}

/** Server-sent events of POST /api/ai/chat; the last one repeats the complete answer, with its cost. */
export const chatEventFrames = makeAnswerFrames(
  Schema.Struct({
    ...ChatAnswer.fields,
    costUsd: Schema.Number.annotations({ description: "US dollars, by catalog prices" })
  })
)
