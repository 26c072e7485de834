import { Duration, Effect } from "effect"
import { markOwnKeyFailure } from "../../ai/calls/CallFallback.ts"
import { ModelUsage } from "../../ai/calls/ModelUsage.ts"
import { OwnerKeys } from "../../ai/keys/OwnerKeys.ts"
import { listMediaModels } from "../../ai/models/MediaPrices.ts"
import { ProviderFailed } from "../../ai/models/ModelErrors.ts"
import { ModelProviders } from "../../ai/models/ModelProviders.ts"
import type { EmbeddingRequest } from "../plugins/ModelAnswers.ts"
import { PluginFailed, PluginInputInvalid } from "../plugins/PluginRun.ts"
import { embeddingProvider as provider, quoteEmbedding, resolveEmbeddingModel } from "./EmbeddingModels.ts"

const timeout = Duration.minutes(1)

/** Embeddings by OpenAI, with the caller's own key if there is one. */
export const makeLocalEmbeddings = Effect.gen(function* () {
  const { all, withKey } = yield* ModelProviders
  const ownerKeys = yield* OwnerKeys
  const usage = yield* ModelUsage
  const configured = all.find(({ embed, name }) => name === provider && embed !== undefined)

  const choose = Effect.fnUntraced(function* (userId: EmbeddingRequest["userId"]) {
    const key = userId === null ? undefined : (yield* ownerKeys.find(userId))[provider]
    if (key === undefined) return { embed: configured?.embed, ownKey: false }
    return { embed: (yield* withKey(provider, key)).provider.embed, ownKey: true }
  })

  const embed = Effect.fn("ModelAnswers.embed")(function* ({ dimensions, input, model, userId }: EmbeddingRequest) {
    yield* quoteEmbedding(model, 0)
    const { embed, ownKey } = yield* choose(userId)
    if (embed === undefined)
      return yield* new PluginInputInvalid({ field: "model", reason: `No provider serves ${model}` })
    const id = resolveEmbeddingModel(model)
    const { tokens, vectors } = yield* embed(id, { input, dimensions }).pipe(
      Effect.timeoutFail({
        duration: timeout,
        onTimeout: () => new ProviderFailed({ provider, kind: "timeout", reason: "no answer within a minute" })
      }),
      Effect.mapError((failure) => (ownKey ? markOwnKeyFailure(failure) : failure)),
      Effect.mapError(({ message, retryAfter }) => new PluginFailed({ reason: message, retryAfter }))
    )
    const costUsd = yield* quoteEmbedding(model, tokens)
    yield* usage
      .record({
        userId,
        agentId: null,
        provider,
        model: id,
        promptTokens: tokens,
        completionTokens: 0,
        ownKey,
        costUsd
      })
      .pipe(Effect.catchAllCause((cause) => Effect.logError("Model usage not recorded", cause)))
    return { vectors, tokens, costUsd }
  })

  return { embed, models: configured === undefined ? [] : listMediaModels(provider, "embedding") }
})
