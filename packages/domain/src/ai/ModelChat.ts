import { Context, Data, type Duration, type Effect, Schema, type Stream } from "effect"
import type { Model, ProviderName } from "./Model.ts"

export const ChatMessage = Schema.Struct({
  role: Schema.Literal("user", "assistant", "system"),
  content: Schema.String
}).annotations({ identifier: "ChatMessage" })
export type ChatMessage = typeof ChatMessage.Type

export interface ChatOptions {
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly maxTokens?: number | undefined
}

export interface TokenUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
}

/** `text` pieces in order, then one `end`. An empty text is a sign of life of a model that still thinks. */
export type ChatChunk =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "end"; readonly usage: TokenUsage | null; readonly finishReason: string | null }

/**
 * Why a provider gave no (whole) answer; `reason` is fit for a log and for the caller, never with a key in it.
 * `unauthorized` covers an account without credit too: like a wrong key, it does not pass by itself. `retryAfter` is
 * what the provider asked for, when it did.
 */
export class ProviderFailed extends Data.TaggedError("ProviderFailed")<{
  readonly provider: ProviderName
  readonly kind: "unreachable" | "timeout" | "rate-limited" | "unauthorized" | "refused" | "overloaded" | "nonsense"
  readonly reason: string
  readonly retryAfter?: Duration.Duration | undefined
}> {
  override get message() {
    return `model provider ${this.provider}: ${this.reason}`
  }
}

/** One provider's wire. */
export interface ModelProvider {
  readonly name: ProviderName
  /** The models this provider can run, as far as it says so itself. */
  readonly models: Effect.Effect<ReadonlyArray<Model>, ProviderFailed>
  /** Whether it answers its cheapest authenticated call. */
  readonly healthy: Effect.Effect<boolean>
  readonly chat: (
    modelId: string,
    messages: ReadonlyArray<ChatMessage>,
    options: ChatOptions
  ) => Stream.Stream<ChatChunk, ProviderFailed>
}

/** The providers that are configured: those with a key, and the sandbox where it is on. */
export class ModelProviders extends Context.Tag("@berth/ModelProviders")<
  ModelProviders,
  { readonly all: ReadonlyArray<ModelProvider> }
>() {}

/** Every model known here, with `available` told from the configured providers. */
export class ModelCatalogue extends Context.Tag("@berth/ModelCatalogue")<
  ModelCatalogue,
  { readonly all: Effect.Effect<ReadonlyArray<Model>> }
>() {}
