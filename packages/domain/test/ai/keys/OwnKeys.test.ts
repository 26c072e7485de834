import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import { ModelCatalog, type ModelProvider, ModelProviders } from "@berth/domain/ai/models/ModelProviders"
import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import type { ChatRequest } from "@berth/domain/ai/calls/ChatRequest"
import { ContextWindows } from "@berth/domain/ai/ContextWindows"
import type { Model } from "@berth/domain/ai/models/Model"
import { type ModelCallRecord, ModelUsage } from "@berth/domain/ai/calls/ModelUsage"
import { applyOwnKeys, preferOwnKeyModels } from "@berth/domain/ai/keys/OwnKeyModels"
import { type ModelKeys, OwnerKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, FastCheck, Layer, Redacted, Stream } from "effect"
import { makeChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { makeModel, modelsArbitrary, providerNames } from "../ModelSamples.ts"
import { UserId } from "@berth/domain/shared/UserId"

const opus = makeModel({ id: "anthropic/claude-opus-4-6", inputCost: 5, outputCost: 25 })
const gpt = makeModel({ id: "openai/gpt-4o", inputCost: 2, outputCost: 8 })
const gemini = makeModel({
  id: "google/gemini-2.5-pro",
  provider: "google",
  available: false,
  contextWindow: 1_000_000
})

const ada = UserId.make("usr_ada")
const bob = UserId.make("usr_bob")

const answer: ReadonlyArray<ModelEvent<ProviderEnding>> = [
  { type: "delta", text: "ok" },
  { type: "done", usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 }, finishReason: "stop" }
]

interface Scene {
  readonly keys: ReadonlyMap<UserId, ModelKeys>
  readonly models?: ReadonlyArray<Model>
  /** What a call with a key, or with the platform's, fails with; null for an answer. */
  readonly fails?: (provider: string, key: string) => ProviderFailed["kind"] | null
}

/** The AI layer with OpenRouter as the platform's provider, and the calls that were made: `<provider> <key> <model>`. */
const scene = ({ fails = () => null, keys, models = [opus, gpt, gemini] }: Scene) =>
  Effect.gen(function* () {
    const calls: Array<string> = []
    const recorded: Array<ModelCallRecord> = []
    const provider = (name: ModelProvider["name"], key: string): ModelProvider => ({
      name,
      models: Effect.succeed([]),
      modelIds: Effect.succeed([]),
      healthy: Effect.succeed(true),
      chat: (model) =>
        Effect.suspend(() => {
          calls.push(`${name} ${key} ${model}`)
          const kind = fails(name, key)
          return kind === null
            ? makeChunkSource(Stream.fromIterable(answer))
            : Effect.fail(new ProviderFailed({ provider: name, kind, reason: `is ${kind}` }))
        })
    })
    const context = yield* Layer.build(
      ContextWindows.layer.pipe(
        Layer.provideMerge(AiLayer.Default),
        Layer.provide([
          Layer.succeed(ModelProviders, {
            all: [provider("openrouter", "platform")],
            withKey: (name, key) =>
              Effect.succeed({ keyId: `id of ${Redacted.value(key)}`, provider: provider(name, Redacted.value(key)) })
          }),
          Layer.succeed(ModelCatalog, { all: Effect.succeed(models) }),
          Layer.succeed(OwnerKeys, { find: (userId) => Effect.succeed(keys.get(userId) ?? {}) }),
          Layer.mock(ModelUsage, { record: (call) => Effect.sync(() => void recorded.push(call)) }),
          Layer.succeed(IdGenerator, { next: (prefix) => Effect.succeed(`${prefix}_1` as const) })
        ])
      )
    )
    const ai = Context.get(context, AiLayer)
    const ask = (userId: UserId | null, changes: Partial<ChatRequest> = {}) =>
      ai.complete({
        messages: [{ role: "user", content: "Hello" }],
        model: "claude-opus-4-6",
        caller: { userId, agentId: null },
        ...changes
      })
    return { ai, ask, calls, recorded, windows: Context.get(context, ContextWindows) }
  })

const keyOf = (key: string) => Redacted.make(key)

describe("an owner's own keys", () => {
  it.scoped("run his models before the platform's, and nobody else's", () =>
    Effect.gen(function* () {
      const { ask, calls, recorded } = yield* scene({ keys: new Map([[ada, { anthropic: keyOf("adas") }]]) })
      expect(yield* ask(ada)).toMatchObject({ provider: "anthropic", ownKey: true, model: opus.id })
      expect(yield* ask(bob)).toMatchObject({ provider: "openrouter", ownKey: false })
      expect(yield* ask(null)).toMatchObject({ provider: "openrouter", ownKey: false })
      expect(calls).toEqual([
        `anthropic adas ${opus.id}`,
        `openrouter platform ${opus.id}`,
        `openrouter platform ${opus.id}`
      ])
      expect(recorded).toMatchObject([
        { userId: ada, provider: "anthropic", ownKey: true, costUsd: 0.00003 },
        { userId: bob, ownKey: false },
        { userId: null, ownKey: false }
      ])
    })
  )

  it.scoped("leave to the platform what they do not run", () =>
    Effect.gen(function* () {
      const { ask, calls } = yield* scene({ keys: new Map([[ada, { anthropic: keyOf("adas") }]]) })
      expect(yield* ask(ada, { model: "gpt-4o" })).toMatchObject({ provider: "openrouter", ownKey: false })
      expect(calls).toEqual([`openrouter platform ${gpt.id}`])
    })
  )

  it.scoped("answer alone where nothing else may", () =>
    Effect.gen(function* () {
      const { ask, calls } = yield* scene({ keys: new Map([[ada, { anthropic: keyOf("adas") }]]) })
      expect(yield* ask(ada, { ownKeysOnly: true })).toMatchObject({ provider: "anthropic", ownKey: true })
      for (const [who, model] of [
        [ada, "gpt-4o"],
        [bob, opus.id],
        [null, opus.id]
      ] as const)
        expect(yield* Effect.flip(ask(who, { model, ownKeysOnly: true }))).toMatchObject({ _tag: "ModelsUnavailable" })
      expect(calls).toEqual([`anthropic adas ${opus.id}`])
    })
  )

  it.scoped("make available for him what the platform cannot run", () =>
    Effect.gen(function* () {
      const { ai, ask, windows } = yield* scene({ keys: new Map([[ada, { google: keyOf("adas") }]]) })
      const model = "gemini-2.5-pro"
      expect(yield* ask(ada, { model })).toMatchObject({ model: gemini.id, provider: "google", ownKey: true })
      expect(yield* ask(bob, { model })).toMatchObject({ provider: "openrouter", ownKey: false })
      expect((yield* ai.models()).models).toContainEqual(gemini)
      expect(yield* ai.resolve(model, ada)).toMatchObject({ isFallback: false, model: { id: gemini.id } })
      expect(yield* ai.resolve(model, null)).toMatchObject({ isFallback: true })
      expect(yield* windows.find(model, ada)).toBe(1_000_000)
      expect(yield* windows.find(model, bob)).toBe(200_000)
    })
  )

  it.scoped("are used where no model is asked for, or one that there is not", () =>
    Effect.gen(function* () {
      const { ask } = yield* scene({ keys: new Map([[ada, { google: keyOf("adas") }]]) })
      expect(yield* ask(ada, { model: undefined })).toMatchObject({ model: gemini.id, ownKey: true })
      expect(yield* ask(ada, { model: "acme/none" })).toMatchObject({ model: gemini.id, ownKey: true })
    })
  )

  it.scoped("are said to be refused when they are, and nobody else pays then", () =>
    Effect.gen(function* () {
      const { ask, calls, recorded } = yield* scene({
        keys: new Map([[ada, { anthropic: keyOf("adas"), openrouter: keyOf("adas-too") }]]),
        fails: (_, key) => (key.startsWith("adas") ? "unauthorized" : null)
      })
      const failure = yield* Effect.flip(ask(ada))
      expect(failure).toMatchObject({ _tag: "ProviderFailed", kind: "unauthorized", ownKey: true })
      expect(failure.message).toBe("your openrouter key was refused; replace it or add credit to its account")
      expect(calls).toEqual([`openrouter adas-too ${opus.id}`])
      expect(recorded).toEqual([])
    })
  )

  it.scoped("give way to his other keys where something else goes wrong, and never to the platform's", () =>
    Effect.gen(function* () {
      const { ask, calls } = yield* scene({
        keys: new Map([[ada, { anthropic: keyOf("adas"), openrouter: keyOf("adas-too") }]]),
        fails: (provider) => (provider === "openrouter" ? "refused" : null)
      })
      expect(yield* ask(ada)).toMatchObject({ provider: "anthropic", ownKey: true })
      expect(yield* Effect.flip(ask(ada, { model: "gpt-4o" }).pipe(Effect.tap(() => Effect.fail("answered"))))).toBe(
        "answered"
      )
      expect(calls.some((call) => call.includes("platform"))).toBe(false)
    })
  )

  it.scoped("are no way to have the platform pay", () =>
    Effect.gen(function* () {
      const { ask, calls } = yield* scene({
        keys: new Map([[ada, { anthropic: keyOf("adas") }]]),
        fails: (provider) => (provider === "anthropic" ? "refused" : null)
      })
      expect(yield* Effect.flip(ask(ada))).toMatchObject({ kind: "refused", provider: "anthropic", ownKey: true })
      expect(calls).toEqual([`anthropic adas ${opus.id}`])
    })
  )

  it.scoped("keep their own count of failures", () =>
    Effect.gen(function* () {
      const { ask, calls } = yield* scene({
        keys: new Map([
          [ada, { openrouter: keyOf("bad") }],
          [bob, { openrouter: keyOf("good") }]
        ]),
        fails: (_, key) => (key === "bad" ? "unauthorized" : null)
      })
      for (const _ of [1, 2, 3, 4, 5]) yield* Effect.flip(ask(ada))
      const tried = calls.length
      // Left alone for a while.
      expect(yield* Effect.flip(ask(ada))).toMatchObject({ kind: "overloaded", ownKey: true })
      expect(calls).toHaveLength(tried)
      expect(yield* ask(bob)).toMatchObject({ ownKey: true })
      expect(yield* ask(null)).toMatchObject({ ownKey: false, provider: "openrouter" })
    })
  )
})

describe("a catalogue with own keys", () => {
  const anyOwn = FastCheck.uniqueArray(providerNames).map((names) => new Set(names))

  it.prop(
    "has the same models, none less available, and is the same array each time",
    [modelsArbitrary, anyOwn],
    ([models, own]) => {
      const reach = applyOwnKeys(models, own)
      expect(applyOwnKeys(models, own)).toBe(reach)
      expect(reach.map(({ id }) => id)).toEqual(models.map(({ id }) => id))
      reach.forEach((model, index) => {
        if (models[index]?.available === true) expect(model.available).toBe(true)
      })
      const preferred = preferOwnKeyModels(reach, own)
      expect(preferred.length === 0).toBe(reach.length === 0)
      if (preferred !== reach) for (const model of preferred) expect(own).toContain(model.provider)
    }
  )
})
