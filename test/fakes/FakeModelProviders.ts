import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import { ModelCatalog, type ModelProvider, ModelProviders } from "@berth/domain/ai/models/ModelProviders"
import { AiSettings, defaultAiSettings } from "@berth/domain/ai/calls/AiSettings"
import type { Model, ProviderName } from "@berth/domain/ai/models/Model"
import type { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { makeChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { OwnerKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { Context, Duration, Effect, Layer, Redacted, Ref, Stream } from "effect"

export interface ModelProviderBehavior {
  /** The catalog; may die. */
  readonly catalog: Effect.Effect<ReadonlyArray<Model>>
  readonly healthy: (provider: ProviderName) => Effect.Effect<boolean>
  readonly chat: (
    ...asked: Parameters<ModelProvider["chat"]>
  ) => Stream.Stream<ModelEvent<ProviderEnding>, ProviderFailed>
  /** Keys that an owner has brought. */
  readonly keys: OwnerKeys["Type"]["find"]
}

/** What a test says the model providers do. */
export class FakeModelProviders extends Context.Tag("@berth/test/FakeModelProviders")<
  FakeModelProviders,
  {
    /** Runs an effect while the providers do what is given; without a script they are well and answer "Good day." */
    readonly withBehavior: (
      script: Partial<ModelProviderBehavior>
    ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
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

const defaultBehavior: ModelProviderBehavior = {
  catalog: Effect.succeed(fakeModels),
  healthy: () => Effect.succeed(true),
  chat: () => Stream.fromIterable(answer),
  keys: () => Effect.succeed({})
}

/** Two providers that follow the script, without retries, rests or remembered health, so that each call stands for itself. */
export const layer: Layer.Layer<ModelProviders | ModelCatalog | FakeModelProviders | AiSettings | OwnerKeys> =
  Layer.effectContext(
    Effect.gen(function* () {
      const script = yield* Ref.make<Partial<ModelProviderBehavior>>({})
      const now = Effect.map(script, (given): ModelProviderBehavior => ({ ...defaultBehavior, ...given }))
      const provider = (name: ProviderName): ModelProvider => ({
        name,
        models: Effect.succeed(fakeModels.filter((one) => one.provider === name)),
        modelIds: Effect.succeed(fakeModels.filter((one) => one.provider === name).map(({ id }) => id)),
        healthy: Effect.flatMap(now, ({ healthy }) => healthy(name)),
        chat: (...asked) => Effect.flatMap(now, ({ chat }) => makeChunkSource(chat(...asked)))
      })
      return Context.make(ModelProviders, {
        all: [provider("anthropic"), provider("openai")],
        withKey: (name, key) => Effect.succeed({ keyId: `of ${Redacted.value(key).length}`, provider: provider(name) })
      }).pipe(
        Context.add(OwnerKeys, { find: (userId) => Effect.flatMap(now, ({ keys }) => keys(userId)) }),
        Context.add(ModelCatalog, { all: Effect.flatMap(now, ({ catalog }) => catalog) }),
        Context.add(AiSettings, {
          ...defaultAiSettings,
          retry: { ...defaultAiSettings.retry, retries: 0 },
          breaker: { ...defaultAiSettings.breaker, failures: Number.MAX_SAFE_INTEGER },
          healthTtl: Duration.zero
        }),
        Context.add(FakeModelProviders, {
          withBehavior: (given) => (effect) =>
            Effect.acquireUseRelease(
              Ref.getAndSet(script, given),
              () => effect,
              (before) => Ref.set(script, before)
            )
        })
      )
    })
  )
