import type { ChatMessage, ChatOptions } from "@berth/domain/ai/chat/ModelChat"
import type { EmbeddingInput, EmbeddingVectors, ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import { Array, Effect } from "effect"
import { readListedModel, readListedModelId } from "../catalog/ListedModels.ts"
import type { AnswerContext } from "./AnswerFold.ts"
import type { VendorAnswer, VendorEvent } from "./AnswerStream.ts"
import { type ChunkSource, mapChunkFailure, type OpenedSource } from "./ChunkStage.ts"
import { type FailureContext, toProviderFailure } from "./ProviderFailure.ts"
import { countToolCalls } from "./VendorConversation.ts"
import type { VendorAnswerWithheld, VendorFailure } from "./VendorErrors.ts"

export interface VendorModelProviderOptions<Chunk> extends FailureContext {
  readonly provider: Parameters<typeof readListedModel>[0]
  readonly chat: (
    modelId: string,
    messages: ReadonlyArray<ChatMessage>,
    options: ChatOptions
  ) => Effect.Effect<OpenedSource<VendorEvent<Chunk>, VendorFailure>>
  readonly readAnswer: (
    context: AnswerContext
  ) => (answer: VendorAnswer<Chunk>) => ChunkSource<ModelEvent<ProviderEnding>, VendorFailure | VendorAnswerWithheld>
  /** Entries of the vendor's model list. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, VendorFailure>
  readonly embed?: (modelId: string, input: EmbeddingInput) => Effect.Effect<EmbeddingVectors, VendorFailure>
  /** The cheapest call that requires a key. */
  readonly probe: Effect.Effect<void, VendorFailure>
}

/** Makes a model provider from a vendor's client. */
export const makeVendorModelProvider = <Chunk>(options: VendorModelProviderOptions<Chunk>): ModelProvider => {
  const { chat, embed, models, probe, provider, readAnswer } = options
  const toFailure = toProviderFailure(options)
  return {
    name: provider,
    ...(embed !== undefined && {
      embed: (modelId: string, input: EmbeddingInput) => Effect.mapError(embed(modelId, input), toFailure)
    }),
    chat: (modelId, messages, chatOptions) =>
      Effect.map(chat(modelId, messages, chatOptions), (answer) => ({
        ...mapChunkFailure(
          readAnswer({ provider, model: modelId, callsBefore: countToolCalls(messages) })(answer),
          toFailure
        ),
        close: answer.close
      })),
    models: Effect.mapBoth(models, {
      onFailure: toFailure,
      onSuccess: Array.filterMap((entry) => readListedModel(provider, entry))
    }),
    modelIds: Effect.mapBoth(models, {
      onFailure: toFailure,
      onSuccess: Array.filterMap((entry) => readListedModelId(provider, entry))
    }),
    healthy: Effect.catchAll(Effect.as(probe, true), (failure) => {
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
