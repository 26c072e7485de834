import type { ChatChunk, ChatMessage, ChatOptions, ModelProvider } from "@berth/domain/ai/ModelChat"
import { answerStream } from "@berth/domain/ai/Pull"
import { Array, Effect, type Scope } from "effect"
import { listedId, readListed } from "../catalogue/ListedModels.ts"
import { countCalls } from "./Conversation.ts"
import type { AnswerContext } from "./FoldAnswer.ts"
import { healthOf } from "./Health.ts"
import { mapFailure, type Pull } from "./Pull.ts"
import { type FailureReading, readFailure } from "./ReadFailure.ts"
import type { WireEvent } from "./WireEvent.ts"
import type { AnswerIsWithheld, WireFailure } from "./WireFailure.ts"

export interface WireProviderOptions<Chunk> extends FailureReading {
  readonly provider: Parameters<typeof readListed>[0]
  /** A call in the vendor's words, of one in ours. */
  readonly chat: (
    modelId: string,
    messages: ReadonlyArray<ChatMessage>,
    options: ChatOptions
  ) => Effect.Effect<Pull<WireEvent<Chunk>, WireFailure>, WireFailure, Scope.Scope>
  /** An answer in our words, of one in the vendor's. */
  readonly readAnswer: (
    context: AnswerContext
  ) => (heard: Pull<WireEvent<Chunk>, WireFailure>) => Pull<ChatChunk, WireFailure | AnswerIsWithheld>
  /** The entries of the vendor's own list. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, WireFailure>
  /** The cheapest call that needs a key. */
  readonly cheapest: Effect.Effect<void, WireFailure>
}

/** A vendor's wire as a provider of models. */
export const wireProvider = <Chunk>(options: WireProviderOptions<Chunk>): ModelProvider => {
  const { chat, cheapest, models, provider, readAnswer } = options
  const failure = readFailure(options)
  return {
    name: provider,
    chat: (modelId, messages, given) =>
      answerStream(
        chat(modelId, messages, given).pipe(
          Effect.map((heard) =>
            mapFailure(readAnswer({ provider, model: modelId, callsBefore: countCalls(messages) })(heard), failure)
          ),
          Effect.mapError(failure)
        )
      ),
    models: Effect.mapBoth(models, {
      onFailure: failure,
      onSuccess: Array.filterMap((entry) => readListed(provider, entry))
    }),
    modelIds: Effect.mapBoth(models, {
      onFailure: failure,
      onSuccess: Array.filterMap((entry) => listedId(provider, entry))
    }),
    healthy: healthOf(provider, cheapest, failure)
  }
}
