import { Context, type Effect, type Redacted, type Scope } from "effect"
import type { ChatMessage, ChatOptions } from "../chat/ModelChat.ts"
import type { OwnableProvider } from "../keys/OwnerKeys.ts"
import type { ChunkSource } from "../streams/ChunkSource.ts"
import type { ModelEvent, ProviderEnding } from "../streams/ModelEvent.ts"
import type { Model, ProviderName } from "./Model.ts"
import type { ProviderFailed } from "./ModelErrors.ts"

/** One provider of models. */
export interface ModelProvider {
  readonly name: ProviderName
  /** The models this provider can run, as far as it says so itself and their price is known. */
  readonly models: Effect.Effect<ReadonlyArray<Model>, ProviderFailed>
  /** The ids in the catalogue of all that it says it can run, with a known price or without. */
  readonly modelIds: Effect.Effect<ReadonlyArray<string>, ProviderFailed>
  /** Whether it answers its cheapest authenticated call. */
  readonly healthy: Effect.Effect<boolean>
  /** Sends the call. The source ends with `done`; closing the scope ends the call. */
  readonly chat: (
    modelId: string,
    messages: ReadonlyArray<ChatMessage>,
    options: ChatOptions
  ) => Effect.Effect<ChunkSource<ModelEvent<ProviderEnding>, ProviderFailed>, ProviderFailed, Scope.Scope>
}

/** A provider called with an owner's key. */
export interface OwnProvider {
  /** Distinguishes keys without revealing them. */
  readonly keyId: string
  readonly provider: ModelProvider
}

/** The providers of models. */
export class ModelProviders extends Context.Tag("@berth/ModelProviders")<
  ModelProviders,
  {
    /** Those that are configured: with a key of the platform's, and the sandbox where it is on. */
    readonly all: ReadonlyArray<ModelProvider>
    /** One with another key than the platform's, configured or not; the same for the same key. */
    readonly withKey: (name: OwnableProvider, key: Redacted.Redacted) => Effect.Effect<OwnProvider>
  }
>() {}

/** Every model known here, with `available` told from the configured providers. */
export class ModelCatalog extends Context.Tag("@berth/ModelCatalog")<
  ModelCatalog,
  { readonly all: Effect.Effect<ReadonlyArray<Model>> }
>() {}
