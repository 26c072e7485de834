import { makeAnswerFrames } from "../ai/ChatEvents.ts"
import { GatewayAnswer } from "./GatewayApi.ts"

/** Server-sent events of a streamed call; the text of the answer is in the deltas. */
export const gatewayFrames = makeAnswerFrames(GatewayAnswer.omit("message"))
