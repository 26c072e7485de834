import { Schema } from "effect"
import { encodeSseEvent } from "../http/Sse.ts"
import { GatewayAnswer } from "./GatewayApi.ts"

const GatewayDeltaEvent = Schema.Struct({ text: Schema.String })
/** The last event of a complete answer; its text is in the deltas. */
const GatewayDoneEvent = GatewayAnswer.omit("message")
/** The last event of a failed answer: the error body. */
const GatewayErrorEvent = Schema.Struct({
  error: Schema.String,
  message: Schema.String,
  code: Schema.String,
  traceId: Schema.optional(Schema.String)
})

const encodeDelta = Schema.encodeSync(Schema.parseJson(GatewayDeltaEvent))
const encodeDone = Schema.encodeSync(Schema.parseJson(GatewayDoneEvent))
const encodeError = Schema.encodeSync(Schema.parseJson(GatewayErrorEvent))

/** Encodes events of a streamed call as server-sent events. */
export const gatewayFrames = {
  delta: (text: string): string => encodeSseEvent({ event: "delta", data: encodeDelta({ text }) }),
  done: (answer: typeof GatewayDoneEvent.Type): string => encodeSseEvent({ event: "done", data: encodeDone(answer) }),
  error: (failure: typeof GatewayErrorEvent.Type): string =>
    encodeSseEvent({ event: "error", data: encodeError(failure) })
}
