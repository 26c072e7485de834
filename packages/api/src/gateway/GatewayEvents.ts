import { Schema } from "effect"
import { encodeSseEvent } from "../http/Sse.ts"
import { GatewayAnswer } from "./GatewayApi.ts"

/** A piece of the answer. */
export const GatewayDeltaEvent = Schema.Struct({ text: Schema.String })
/** The last event of an answer that came to its end: the text is in the pieces before. */
export const GatewayDoneEvent = GatewayAnswer.pipe(Schema.omit("message"))
/** The last event of one that broke off: the body of the error. */
export const GatewayErrorEvent = Schema.Struct({ error: Schema.String, message: Schema.String, code: Schema.String })

const encodeDelta = Schema.encodeSync(Schema.parseJson(GatewayDeltaEvent))
const encodeDone = Schema.encodeSync(Schema.parseJson(GatewayDoneEvent))
const encodeBroken = Schema.encodeSync(Schema.parseJson(GatewayErrorEvent))

/** The events of a streamed call as server-sent events. */
export const gatewayFrames = {
  delta: (text: string): string => encodeSseEvent({ event: "delta", data: encodeDelta({ text }) }),
  done: (answer: typeof GatewayDoneEvent.Type): string => encodeSseEvent({ event: "done", data: encodeDone(answer) }),
  error: (failure: typeof GatewayErrorEvent.Type): string =>
    encodeSseEvent({ event: "error", data: encodeBroken(failure) })
}
