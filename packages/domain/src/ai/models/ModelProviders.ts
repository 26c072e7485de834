import { Context, type Effect, type Redacted } from "effect"
import type { ChatMessage, ChatOptions } from "../chat/ModelChat.ts"
import type { OwnableProvider } from "../keys/OwnerKeys.ts"
import type { OpenedSource } from "../streams/ChunkSource.ts"
import type { ModelEvent, ProviderEnding } from "../streams/ModelEvent.ts"
import type { Model, ProviderName } from "./Model.ts"
import type { ProviderFailed } from "./ModelErrors.ts"

export interface EmbeddingInput {
  readonly input: ReadonlyArray<string>
  /** Default: the model's. */
  readonly dimensions?: number | undefined
}

export interface EmbeddingVectors {
  /** In the order of the input: 32-bit floats, little-endian, in base64. */
  readonly vectors: ReadonlyArray<string>
  readonly tokens: number
}

export interface ModelProvider {
  readonly name: ProviderName
  /** Models in the provider's list that have a known price. */
  readonly models: Effect.Effect<ReadonlyArray<Model>, ProviderFailed>
  /** Catalog ids of all models in the provider's list. */
  readonly modelIds: Effect.Effect<ReadonlyArray<string>, ProviderFailed>
  /** Whether the provider's cheapest authenticated call succeeds. */
  readonly healthy: Effect.Effect<boolean>
  /** Sends the call without waiting for its response. The source ends with `done`; closing it ends the call. */
  readonly chat: (
    modelId: string,
    messages: ReadonlyArray<ChatMessage>,
    options: ChatOptions
  ) => Effect.Effect<OpenedSource<ModelEvent<ProviderEnding>, ProviderFailed>>
  /** Absent if the provider has no embeddings. */
  readonly embed?: (modelId: string, input: EmbeddingInput) => Effect.Effect<EmbeddingVectors, ProviderFailed>
}

/** A provider that is called with an owner's key. */
interface OwnProvider {
  /** Distinguishes keys without revealing them. */
  readonly keyId: string
  readonly provider: ModelProvider
}

export class ModelProviders extends Context.Tag("@berth/ModelProviders")<
  ModelProviders,
  {
    /** Configured providers: those with a platform key, and the sandbox if enabled. */
    readonly all: ReadonlyArray<ModelProvider>
    /** Returns a provider with an owner's key; memoized by key. */
    readonly withKey: (name: OwnableProvider, key: Redacted.Redacted) => Effect.Effect<OwnProvider>
  }
>() {}

export class ModelCatalog extends Context.Tag("@berth/ModelCatalog")<
  ModelCatalog,
  { readonly all: Effect.Effect<ReadonlyArray<Model>> }
>() {}
