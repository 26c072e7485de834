import { AiLimits, defaultAiSettings } from "@berth/domain/ai/AiSettings"
import type { Model, ProviderName } from "@berth/domain/ai/Model"
import { type ChatChunk, ModelCatalogue, type ModelProvider, ModelProviders } from "@berth/domain/ai/ModelChat"
import { OwnerKeys } from "@berth/domain/ai/OwnerKeys"
import { Context, Duration, Effect, Layer, Redacted, Ref, Stream } from "effect"

export interface ModelScript {
  /** The catalogue; may die. */
  readonly catalogue: Effect.Effect<ReadonlyArray<Model>>
  readonly healthy: (provider: ProviderName) => Effect.Effect<boolean>
  readonly chat: ModelProvider["chat"]
  /** Keys that an owner has brought. */
  readonly keys: OwnerKeys["Type"]["of"]
}

/** What a test says the model providers do. */
export class ScriptedModels extends Context.Tag("@berth/test/ScriptedModels")<
  ScriptedModels,
  {
    /** Runs an effect while the providers do what is given; without a script they are well and answer "Good day." */
    readonly during: (
      script: Partial<ModelScript>
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

export const models: ReadonlyArray<Model> = [
  model("anthropic", "anthropic/claude-opus-4-6"),
  model("openai", "openai/gpt-4")
]

const answer: ReadonlyArray<ChatChunk> = [
  { type: "text", text: "Good " },
  { type: "text", text: "day." },
  { type: "end", usage: { promptTokens: 7, completionTokens: 3, totalTokens: 10 }, finishReason: "stop" }
]

const allWell: ModelScript = {
  catalogue: Effect.succeed(models),
  healthy: () => Effect.succeed(true),
  chat: () => Stream.fromIterable(answer),
  keys: () => Effect.succeed({})
}

/** Two providers that follow the script, without retries, rests or remembered health, so that each call stands for itself. */
export const layer: Layer.Layer<ModelProviders | ModelCatalogue | ScriptedModels | AiLimits | OwnerKeys> =
  Layer.effectContext(
    Effect.gen(function* () {
      const script = yield* Ref.make<Partial<ModelScript>>({})
      const now = Effect.map(script, (given): ModelScript => ({ ...allWell, ...given }))
      const provider = (name: ProviderName): ModelProvider => ({
        name,
        models: Effect.succeed(models.filter((one) => one.provider === name)),
        modelIds: Effect.succeed(models.filter((one) => one.provider === name).map(({ id }) => id)),
        healthy: Effect.flatMap(now, ({ healthy }) => healthy(name)),
        chat: (...asked) => Stream.unwrap(Effect.map(now, ({ chat }) => chat(...asked)))
      })
      return Context.make(ModelProviders, {
        all: [provider("anthropic"), provider("openai")],
        withKey: (name, key) => Effect.succeed({ keyId: `of ${Redacted.value(key).length}`, provider: provider(name) })
      }).pipe(
        Context.add(OwnerKeys, { of: (userId) => Effect.flatMap(now, ({ keys }) => keys(userId)) }),
        Context.add(ModelCatalogue, { all: Effect.flatMap(now, ({ catalogue }) => catalogue) }),
        Context.add(AiLimits, {
          ...defaultAiSettings,
          retry: { ...defaultAiSettings.retry, retries: 0 },
          breaker: { ...defaultAiSettings.breaker, failures: Number.MAX_SAFE_INTEGER },
          healthAge: Duration.zero
        }),
        Context.add(ScriptedModels, {
          during: (given) => (effect) =>
            Effect.acquireUseRelease(
              Ref.getAndSet(script, given),
              () => effect,
              (before) => Ref.set(script, before)
            )
        })
      )
    })
  )
