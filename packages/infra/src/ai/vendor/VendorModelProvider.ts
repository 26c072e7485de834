import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/chat/ModelChat"
import { Array, Effect, type Scope } from "effect"
import { readListedModelId, readListedModel } from "../catalog/ListedModels.ts"
import { countToolCalls } from "./VendorConversation.ts"
import type { AnswerContext } from "./AnswerFold.ts"
import { checkProviderHealth } from "./ProviderHealth.ts"
import { mapChunkFailure, type ChunkSource } from "./ChunkStage.ts"
import { type FailureContext, toProviderFailure } from "./ProviderFailure.ts"
import type { VendorEvent } from "./VendorEvent.ts"
import type { VendorAnswerWithheld, VendorFailure } from "./VendorErrors.ts"

export interface VendorModelProviderOptions<Chunk> extends FailureContext {
  readonly provider: Parameters<typeof readListedModel>[0]
  /** A call in the vendor's words, of one in ours. */
  readonly chat: (
    modelId: string,
    messages: ReadonlyArray<ChatMessage>,
    options: ChatOptions
  ) => Effect.Effect<ChunkSource<VendorEvent<Chunk>, VendorFailure>, VendorFailure, Scope.Scope>
  /** An answer in our words, of one in the vendor's. */
  readonly readAnswer: (
    context: AnswerContext
  ) => (
    heard: ChunkSource<VendorEvent<Chunk>, VendorFailure>
  ) => ChunkSource<ModelEvent<ProviderEnding>, VendorFailure | VendorAnswerWithheld>
  /** The entries of the vendor's own list. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, VendorFailure>
  /** The cheapest call that needs a key. */
  readonly probe: Effect.Effect<void, VendorFailure>
}

/** A vendor's wire as a provider of models. */
export const makeVendorModelProvider = <Chunk>(options: VendorModelProviderOptions<Chunk>): ModelProvider => {
  const { chat, probe, models, provider, readAnswer } = options
  const failure = toProviderFailure(options)
  return {
    name: provider,
    chat: (modelId, messages, given) =>
      Effect.mapBoth(chat(modelId, messages, given), {
        onFailure: failure,
        onSuccess: (source) =>
          mapChunkFailure(
            readAnswer({ provider, model: modelId, callsBefore: countToolCalls(messages) })(source),
            failure
          )
      }),
    models: Effect.mapBoth(models, {
      onFailure: failure,
      onSuccess: Array.filterMap((entry) => readListedModel(provider, entry))
    }),
    modelIds: Effect.mapBoth(models, {
      onFailure: failure,
      onSuccess: Array.filterMap((entry) => readListedModelId(provider, entry))
    }),
    healthy: checkProviderHealth(provider, probe, failure)
  }
}
