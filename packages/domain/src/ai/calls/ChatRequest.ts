import type { ProviderFailed } from "../models/ModelErrors.ts"
import type { ProviderName } from "../models/Model.ts"
import type { ChatMessage, ChatOptions, TokenUsage, ToolCall } from "../chat/ModelChat.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

export interface ChatRequest {
  /** At least one. */
  readonly messages: ReadonlyArray<ChatMessage>
  /** A model's id; without one the best model for the task answers. */
  readonly model?: string | undefined
  /** A `TaskType`; absent and unknown ones are general. */
  readonly taskType?: string | undefined
  readonly options?: ChatOptions | undefined
  /** What to do about an id that names no model: let the best general model answer (the default), or refuse. */
  readonly unknownModel?: "fall-back" | "refuse" | undefined
  /** Whether only the caller's own keys may answer; with none of them for the model, no model is available. */
  readonly ownKeysOnly?: boolean | undefined
  /** Models with a higher upper bound of the cost, in US dollars, are not fallen back to; the first model is not limited. */
  readonly fallbackCostLimitUsd?: number | undefined
  /** On whose behalf: with his own keys where he has some, and for the record of usage. Null where nobody is known. */
  readonly caller: { readonly userId: UserId | null; readonly agentId: AgentId | null }
}

/** One model called at one provider for an answer. */
export interface CallAttempt {
  readonly model: string
  readonly provider: ProviderName
  /** `answered`; the kind of its failure; or `skipped`, since it has failed too often just before. */
  readonly outcome: "answered" | "skipped" | ProviderFailed["kind"]
  /** How often it was tried. */
  readonly tries: number
}

/** What is known of an answer when its first text is there. */
export interface ChatOpening {
  /** `cpl_…` */
  readonly id: string
  /** The model that answers, which need not be the one that was asked for. */
  readonly model: string
  readonly provider: ProviderName
  /** Whether it answers by the caller's own key. */
  readonly ownKey: boolean
  /** What was called, in order; the last one answers. */
  readonly attempts: ReadonlyArray<CallAttempt>
  /** What choosing, failed calls and waits took before the call that answers went out. */
  readonly overheadMs: number
}

export interface ChatEnding {
  readonly usage: TokenUsage
  /** The provider did not count, so these are estimates: a token per four bytes of text, rounded up. */
  readonly usageIsEstimated: boolean
  /** US dollars, by the catalogue's prices. */
  readonly costUsd: number
  readonly finishReason: string | null
}

/** A whole answer. */
export interface ChatCompletion extends ChatOpening, ChatEnding {
  readonly text: string
  readonly toolCalls: ReadonlyArray<ToolCall>
}
