import { Schema } from "effect"
import type { ChatEnding } from "../calls/ChatRequest.ts"
import { type TokenUsage, ToolCall } from "../chat/ModelChat.ts"

export const ModelDelta = Schema.Struct({ type: Schema.Literal("delta"), text: Schema.String })
export type ModelDelta = typeof ModelDelta.Type
export const ModelToolCall = Schema.Struct({ type: Schema.Literal("tool-call"), call: ToolCall })

export interface ProviderEnding {
  /** Null if the provider reports no usage. */
  readonly usage: TokenUsage | null
  readonly finishReason: string | null
  /** The provider's id of the answer and name of the model, if reported. */
  readonly responseId?: string | undefined
  readonly responseModel?: string | undefined
}

/**
 * Events of an answer: deltas and complete tool calls, then one `done`. An empty delta of a provider is a keep-alive,
 * which the AI layer drops.
 */
export type ModelEvent<Ending = ChatEnding> =
  ModelDelta | typeof ModelToolCall.Type | ({ readonly type: "done" } & Ending)
