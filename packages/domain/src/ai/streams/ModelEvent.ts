import { Schema } from "effect"
import type { ChatEnding, ChatOpening } from "../calls/ChatRequest.ts"
import { type TokenUsage, ToolCall } from "../chat/ModelChat.ts"

export const ModelDelta = Schema.Struct({ type: Schema.Literal("delta"), text: Schema.String })
export const ModelToolCall = Schema.Struct({ type: Schema.Literal("tool-call"), call: ToolCall })

/** How a provider ends an answer. */
export interface ProviderEnding {
  /** Null where the provider did not count. */
  readonly usage: TokenUsage | null
  readonly finishReason: string | null
}

/**
 * The events of a model's answer: deltas and whole tool calls in order, then one `done`. A provider may send an empty
 * delta while its model still thinks; the AI layer passes none on.
 */
export type ModelEvent<Ending = ChatOpening & ChatEnding> =
  typeof ModelDelta.Type | typeof ModelToolCall.Type | ({ readonly type: "done" } & Ending)
