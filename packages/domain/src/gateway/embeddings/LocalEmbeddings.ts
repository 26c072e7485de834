import { Duration, Effect } from "effect"
import type { CalledModel } from "../../ai/calls/CallPlan.ts"
import { markOwnKeyFailure } from "../../ai/calls/CallFallback.ts"
import { countCall, countUsage, measureCall, nameProvider } from "../../ai/calls/ModelTelemetry.ts"
import { ModelUsage } from "../../ai/calls/ModelUsage.ts"
import { OwnerKeys } from "../../ai/keys/OwnerKeys.ts"
import { listMediaModels } from "../../ai/models/MediaPrices.ts"
import { ProviderFailed } from "../../ai/models/ModelErrors.ts"
import { ModelProviders } from "../../ai/models/ModelProviders.ts"
import { parseModelName } from "../../ai/models/ModelRoutes.ts"
import type { EmbeddingRequest } from "../plugins/ModelAnswers.ts"
import { PluginFailed, PluginInputInvalid, toPluginFailed } from "../plugins/PluginRun.ts"
import { embeddingProvider as provider, quoteEmbedding, resolveEmbeddingModel } from "./EmbeddingModels.ts"

const timeout = Duration.minutes(1)

/** Embeddings by OpenAI, with the caller's own key if any. */
export const makeLocalEmbeddings = Effect.gen(function* () {
  const { all, withKey } = yield* ModelProviders
  const ownerKeys = yield* OwnerKeys
  const usage = yield* ModelUsage
  const configured = all.find(({ embed, name }) => name === provider && embed !== undefined)

  const choose = Effect.fnUntraced(function* ({ ownKey, userId }: Pick<EmbeddingRequest, "ownKey" | "userId">) {
    if (!ownKey || userId === null) return { embed: configured?.embed, keyId: undefined }
    const key = (yield* ownerKeys.find(userId))[provider]
    if (key === undefined) return yield* new PluginFailed({ reason: `Your key of ${provider} has been removed` })
    const own = yield* withKey(provider, key)
    return { embed: own.provider.embed, keyId: own.keyId }
  })

  const embed = Effect.fn("ModelAnswers.embed")(function* (request: EmbeddingRequest) {
    const { dimensions, input, model, ownKey, userId } = request
    yield* quoteEmbedding(model, 0)
    const { embed, keyId } = yield* choose(request)
    if (embed === undefined)
      return yield* new PluginInputInvalid({ field: "model", reason: `No provider serves ${model}` })
    const id = resolveEmbeddingModel(model)
    const call: CalledModel = { provider, model: { id }, keyId }
    const clock = yield* Effect.clock
    const startedAt = clock.unsafeCurrentTimeMillis()
    const count = (outcome: string, error?: string) => {
      countCall(call, outcome)
      measureCall(call, "embeddings", clock.unsafeCurrentTimeMillis() - startedAt, error)
    }
    const { tokens, vectors } = yield* embed(id, { input, dimensions }).pipe(
      Effect.timeoutFail({
        duration: timeout,
        onTimeout: () => new ProviderFailed({ provider, kind: "timeout", reason: "no answer within a minute" })
      }),
      Effect.tapError(({ kind }) => Effect.sync(() => count(kind, kind))),
      Effect.tap((answer) => Effect.annotateCurrentSpan("gen_ai.usage.input_tokens", answer.tokens)),
      Effect.withSpan("Embeddings.embed", {
        kind: "client",
        attributes: {
          "gen_ai.operation.name": "embeddings",
          "gen_ai.provider.name": nameProvider(provider),
          "gen_ai.request.model": parseModelName(id)
        }
      }),
      Effect.mapError((failure) => toPluginFailed(ownKey ? markOwnKeyFailure(failure) : failure))
    )
    count("answered")
    const costUsd = yield* quoteEmbedding(model, tokens)
    countUsage(call, { promptTokens: tokens, completionTokens: 0, totalTokens: tokens }, costUsd)
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
