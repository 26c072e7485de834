import type { ProviderFailed } from "../models/ModelErrors.ts"
import type { ProviderName } from "../models/Model.ts"
import type { ChatMessage, ChatOptions, TokenUsage, ToolCall } from "../chat/ModelChat.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

export interface ChatRequest {
  /** Not empty. */
  readonly messages: ReadonlyArray<ChatMessage>
  /** Model id; default: the best model for the task. */
  readonly model?: string | undefined
  /** A `TaskType`; absent and unknown values mean general. */
  readonly taskType?: string | undefined
  readonly options?: ChatOptions | undefined
  /** Behavior for unknown ids: the best general model answers (default), or the call fails. */
  readonly unknownModel?: "fall-back" | "refuse" | undefined
  /** Whether platform keys are excluded. */
  readonly ownKeysOnly?: boolean | undefined
  /** Excludes fallback models with a higher upper bound of the cost, in US dollars. The first model is not limited. */
  readonly fallbackCostLimitUsd?: number | undefined
  /** The calling turn, for spans. */
  readonly conversation?: { readonly id: string; readonly agentName: string } | undefined
  /** Selects own keys and the owner of usage records. Null: anonymous. */
  readonly caller: { readonly userId: UserId | null; readonly agentId: AgentId | null }
}

/** One model at one provider. */
export interface CallAttempt {
  readonly model: string
  readonly provider: ProviderName
  /** `answered`, the kind of failure, or `skipped` by a circuit breaker. */
  readonly outcome: "answered" | "skipped" | ProviderFailed["kind"]
  /** Number of requests sent. */
  readonly tries: number
}

/** Properties of an answer, known at its first text. */
export interface ChatOpening {
  /** `cpl_…` */
  readonly id: string
  /** The answering model; can differ from the requested one. */
  readonly model: string
  readonly provider: ProviderName
  /** Whether the caller's own key is used. */
  readonly ownKey: boolean
  /** In order; the last attempt answers. */
  readonly attempts: ReadonlyArray<CallAttempt>
  /** Milliseconds before the answering call was sent. */
  readonly overheadMs: number
}

export interface ChatEnding {
  readonly usage: TokenUsage
  /** Whether the provider reported no usage. */
  readonly usageIsEstimated: boolean
  /** US dollars, by catalog prices. */
  readonly costUsd: number
  readonly finishReason: string | null
}

export interface ChatCompletion extends ChatOpening, ChatEnding {
  readonly text: string
  readonly toolCalls: ReadonlyArray<ToolCall>
}
