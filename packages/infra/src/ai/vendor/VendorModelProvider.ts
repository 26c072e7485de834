import type { ChatMessage, ChatOptions } from "@berth/domain/ai/chat/ModelChat"
import type { EmbeddingInput, EmbeddingVectors, ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import { Array, Effect, type Redacted } from "effect"
import { readListedModel, readListedModelId } from "../catalog/ListedModels.ts"
import { mapChunkFailure, type OpenedSource } from "./ChunkStage.ts"
import { type FailureKind, toProviderFailure } from "./ProviderFailure.ts"
import type { VendorAnswerWithheld, VendorFailure, VendorRequestRejected } from "./VendorErrors.ts"

/** A vendor's API for models, with its failures. */
export interface VendorModelClient {
  /** The source ends after the answer, or with the body. */
  readonly chat: (
    modelId: string,
    messages: ReadonlyArray<ChatMessage>,
    options: ChatOptions
  ) => Effect.Effect<OpenedSource<ModelEvent<ProviderEnding>, VendorFailure | VendorAnswerWithheld>>
  /** Entries of the vendor's model list. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, VendorFailure>
  readonly embed?: (modelId: string, input: EmbeddingInput) => Effect.Effect<EmbeddingVectors, VendorFailure>
  /** The cheapest call that requires a key. */
  readonly probe: Effect.Effect<void, VendorFailure>
  /** A call that succeeds if the vendor is reachable; default: `probe`. */
  readonly health?: Effect.Effect<void, VendorFailure>
  readonly classify: (rejection: VendorRequestRejected) => FailureKind
}

export const makeVendorModelProvider = (
  provider: Parameters<typeof readListedModel>[0],
  apiKey: Redacted.Redacted,
  { chat, classify, embed, models, probe, health = probe }: VendorModelClient
): ModelProvider => {
  const toFailure = toProviderFailure({ provider, apiKey, classify })
  return {
    name: provider,
    ...(embed !== undefined && {
      embed: (modelId: string, input: EmbeddingInput) => Effect.mapError(embed(modelId, input), toFailure)
    }),
    chat: (...request) =>
      Effect.map(chat(...request), (answer) => ({ close: answer.close, ...mapChunkFailure(answer, toFailure) })),
    models: Effect.mapBoth(models, {
      onFailure: toFailure,
      onSuccess: Array.filterMap((entry) => readListedModel(provider, entry))
    }),
    modelIds: Effect.mapBoth(models, {
      onFailure: toFailure,
      onSuccess: Array.filterMap((entry) => readListedModelId(provider, entry))
    }),
    healthy: Effect.catchAll(Effect.as(health, true), (failure) => {
      // A rate limit proves that the provider is reachable.
      if (failure._tag === "VendorRequestRejected" && failure.status === 429) return Effect.succeed(true)
      const { kind, reason } = toFailure(failure)
      return Effect.logDebug("Model provider is unhealthy").pipe(
        Effect.annotateLogs({ provider, kind, reason }),
        Effect.as(false)
      )
    })
  }
}
