import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import {
  type EmbeddingInput,
  type EmbeddingVectors,
  ModelCatalog,
  type ModelProvider,
  ModelProviders
} from "@berth/domain/ai/models/ModelProviders"
import { AiSettings, defaultAiSettings } from "@berth/domain/ai/calls/AiSettings"
import type { Model, ProviderName } from "@berth/domain/ai/models/Model"
import type { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { openChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { OwnerKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { Context, Duration, Effect, Layer, Redacted, Stream } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

export interface ModelProvidersBehavior {
  readonly catalog: Effect.Effect<ReadonlyArray<Model>>
  readonly healthy: (provider: ProviderName) => Effect.Effect<boolean>
  readonly chat: (
    ...request: Parameters<ModelProvider["chat"]>
  ) => Stream.Stream<ModelEvent<ProviderEnding>, ProviderFailed>
  readonly embed: (input: EmbeddingInput) => Effect.Effect<EmbeddingVectors, ProviderFailed>
  readonly keys: OwnerKeys["Type"]["find"]
}

/** A request to a provider. */
interface ModelChatCall {
  readonly provider: ProviderName
  readonly model: string
  readonly messages: Parameters<ModelProvider["chat"]>[1]
  readonly options: Parameters<ModelProvider["chat"]>[2]
}

/** Model calls and behavior of the providers of `layer`. */
export class ModelProvidersTest extends Context.Tag("@berth/test/ModelProvidersTest")<
  ModelProvidersTest,
  TestPortHandle<ModelChatCall, ModelProvidersBehavior>
>() {}

const model = (provider: ProviderName, id: string): Model => ({
  id,
  name: id,
  provider,
  description: `${id} of a test`,
  tags: ["general", "coding", "fast"],
  inputCost: 3,
  outputCost: 15,
  contextWindow: 200_000,
  available: true,
  takesTools: true
})

export const fakeModels: ReadonlyArray<Model> = [
  model("anthropic", "anthropic/claude-opus-4-6"),
  model("openai", "openai/gpt-4")
]

const answer: ReadonlyArray<ModelEvent<ProviderEnding>> = [
  { type: "delta", text: "Good " },
  { type: "delta", text: "day." },
  { type: "done", usage: { promptTokens: 7, completionTokens: 3, totalTokens: 10 }, finishReason: "stop" }
]

const defaultBehavior: ModelProvidersBehavior = {
  catalog: Effect.succeed(fakeModels),
  healthy: () => Effect.succeed(true),
  chat: () => Stream.fromIterable(answer),
  embed: ({ input }) =>
    Effect.succeed({
      vectors: input.map((text) => Buffer.from(Float32Array.of(text.length, 0.5).buffer).toString("base64")),
      tokens: 7
    }),
  keys: () => Effect.succeed({})
}

/**
 * Two healthy providers that answer "Good day.", without retries, circuit breaker or health cache, so that calls are
 * independent.
 */
export const layer: Layer.Layer<ModelProviders | ModelCatalog | ModelProvidersTest | AiSettings | OwnerKeys> =
  Layer.effectContext(
    Effect.map(makeTestPort<ModelChatCall, ModelProvidersBehavior>(defaultBehavior), ({ behavior, handle, run }) => {
      const provider = (name: ProviderName): ModelProvider => ({
        name,
        models: Effect.succeed(fakeModels.filter((model) => model.provider === name)),
        modelIds: Effect.succeed(fakeModels.filter((model) => model.provider === name).map(({ id }) => id)),
        healthy: Effect.flatMap(behavior, ({ healthy }) => healthy(name)),
        ...(name === "openai" && {
          embed: (_model: string, input: EmbeddingInput) => Effect.flatMap(behavior, ({ embed }) => embed(input))
        }),
        chat: (model, messages, options) =>
          run({ provider: name, model, messages, options }, ({ chat }) =>
            openChunkSource(chat(model, messages, options))
          )
      })
      return Context.make(ModelProviders, {
        all: [provider("anthropic"), provider("openai")],
        withKey: (name, key) => Effect.succeed({ keyId: `of ${Redacted.value(key).length}`, provider: provider(name) })
      }).pipe(
        Context.add(OwnerKeys, { find: (userId) => Effect.flatMap(behavior, ({ keys }) => keys(userId)) }),
        Context.add(ModelCatalog, { all: Effect.flatMap(behavior, ({ catalog }) => catalog) }),
        Context.add(AiSettings, {
          ...defaultAiSettings,
          retry: { ...defaultAiSettings.retry, retries: 0 },
          breaker: { ...defaultAiSettings.breaker, failures: Number.MAX_SAFE_INTEGER },
          healthTtl: Duration.zero
        }),
        Context.add(ModelProvidersTest, handle)
      )
    })
  )
