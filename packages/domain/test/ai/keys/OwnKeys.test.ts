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
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, FastCheck, Layer, Redacted, Stream } from "effect"
import { openChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { makeModel, modelsArbitrary, providerNames } from "../ModelSamples.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { assertMatches } from "../../../../../test/support/Matching.ts"

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
  /** The failure of calls with this key, or with the platform's; null for success. */
  readonly fails?: (provider: string, key: string) => ProviderFailed["kind"] | null
}

/** The AI layer with OpenRouter as the platform's provider, and the recorded calls: `<provider> <key> <model>`. */
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
          return openChunkSource(
            kind === null
              ? Stream.fromIterable(answer)
              : Stream.fail(new ProviderFailed({ provider: name, kind, reason: `is ${kind}` }))
          )
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
  it.scoped("An owner's keys run the owner's models before the platform's, and no other owner's", () =>
    Effect.gen(function* () {
      const { ask, calls, recorded } = yield* scene({ keys: new Map([[ada, { anthropic: keyOf("adas") }]]) })
      assertMatches(yield* ask(ada), { provider: "anthropic", ownKey: true, model: opus.id })
      assertMatches(yield* ask(bob), { provider: "openrouter", ownKey: false })
      assertMatches(yield* ask(null), { provider: "openrouter", ownKey: false })
      assert.deepStrictEqual(calls, [
        `anthropic adas ${opus.id}`,
        `openrouter platform ${opus.id}`,
        `openrouter platform ${opus.id}`
      ])
      assertMatches(recorded, [
        { userId: ada, provider: "anthropic", ownKey: true, costUsd: 0.00003 },
        { userId: bob, ownKey: false },
        { userId: null, ownKey: false }
      ])
    })
  )

  it.scoped("An owner's keys leave other models to the platform", () =>
    Effect.gen(function* () {
      const { ask, calls } = yield* scene({ keys: new Map([[ada, { anthropic: keyOf("adas") }]]) })
      assertMatches(yield* ask(ada, { model: "gpt-4o" }), { provider: "openrouter", ownKey: false })
      assert.deepStrictEqual(calls, [`openrouter platform ${gpt.id}`])
    })
  )

  it.scoped("An owner's keys answer alone where only own keys may be used", () =>
    Effect.gen(function* () {
      const { ask, calls } = yield* scene({ keys: new Map([[ada, { anthropic: keyOf("adas") }]]) })
      assertMatches(yield* ask(ada, { ownKeysOnly: true }), { provider: "anthropic", ownKey: true })
      for (const [who, model] of [
        [ada, "gpt-4o"],
        [bob, opus.id],
        [null, opus.id]
      ] as const)
        assertMatches(yield* Effect.flip(ask(who, { model, ownKeysOnly: true })), { _tag: "ModelsUnavailable" })
      assert.deepStrictEqual(calls, [`anthropic adas ${opus.id}`])
    })
  )

  it.scoped("An owner's keys make models available to their owner that the platform cannot run", () =>
    Effect.gen(function* () {
      const { ai, ask, windows } = yield* scene({ keys: new Map([[ada, { google: keyOf("adas") }]]) })
      const model = "gemini-2.5-pro"
      assertMatches(yield* ask(ada, { model }), { model: gemini.id, provider: "google", ownKey: true })
      assertMatches(yield* ask(bob, { model }), { provider: "openrouter", ownKey: false })
      assert.deepInclude((yield* ai.models()).models, gemini)
      assertMatches(yield* ai.resolve(model, ada), { isFallback: false, model: { id: gemini.id } })
      assertMatches(yield* ai.resolve(model, null), { isFallback: true })
      assert.strictEqual(yield* windows.find(model, ada), 1_000_000)
      assert.strictEqual(yield* windows.find(model, bob), 200_000)
    })
  )

  it.scoped("An owner's keys are used without a requested model and for an unknown one", () =>
    Effect.gen(function* () {
      const { ask } = yield* scene({ keys: new Map([[ada, { google: keyOf("adas") }]]) })
      assertMatches(yield* ask(ada, { model: undefined }), { model: gemini.id, ownKey: true })
      assertMatches(yield* ask(ada, { model: "acme/none" }), { model: gemini.id, ownKey: true })
    })
  )

  it.scoped("An owner's rejected keys fail the call, without a platform call", () =>
    Effect.gen(function* () {
      const { ask, calls, recorded } = yield* scene({
        keys: new Map([[ada, { anthropic: keyOf("adas"), openrouter: keyOf("adas-too") }]]),
        fails: (_, key) => (key.startsWith("adas") ? "unauthorized" : null)
      })
      const failure = yield* Effect.flip(ask(ada))
      assertMatches(failure, { _tag: "ProviderFailed", kind: "unauthorized", ownKey: true })
      assert.strictEqual(failure.message, "your openrouter key was refused; replace it or add credit to its account")
      assert.deepStrictEqual(calls, [`openrouter adas-too ${opus.id}`])
      assert.deepStrictEqual(recorded, [])
    })
  )

  it.scoped("An owner's keys fall back to the owner's other keys, never to the platform's", () =>
    Effect.gen(function* () {
      const { ask, calls } = yield* scene({
        keys: new Map([[ada, { anthropic: keyOf("adas"), openrouter: keyOf("adas-too") }]]),
        fails: (provider) => (provider === "openrouter" ? "refused" : null)
      })
      assertMatches(yield* ask(ada), { provider: "anthropic", ownKey: true })
      assert.strictEqual(
        yield* Effect.flip(ask(ada, { model: "gpt-4o" }).pipe(Effect.tap(() => Effect.fail("answered")))),
        "answered"
      )
      assert.isFalse(calls.some((call) => call.includes("platform")))
    })
  )

  it.scoped("An owner's keys never cause a call at the platform's cost", () =>
    Effect.gen(function* () {
      const { ask, calls } = yield* scene({
        keys: new Map([[ada, { anthropic: keyOf("adas") }]]),
        fails: (provider) => (provider === "anthropic" ? "refused" : null)
      })
      assertMatches(yield* Effect.flip(ask(ada)), { kind: "refused", provider: "anthropic", ownKey: true })
      assert.deepStrictEqual(calls, [`anthropic adas ${opus.id}`])
    })
  )

  it.scoped("An owner's keys keep their own count of failures", () =>
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
      // The key is skipped for a while.
      assertMatches(yield* Effect.flip(ask(ada)), { kind: "overloaded", ownKey: true })
      assert.lengthOf(calls, tried)
      assertMatches(yield* ask(bob), { ownKey: true })
      assertMatches(yield* ask(null), { ownKey: false, provider: "openrouter" })
    })
  )
})

describe("a catalog with own keys", () => {
  const anyOwn = FastCheck.uniqueArray(providerNames).map((names) => new Set(names))

  it.prop(
    "A catalog with an owner's keys has the same models, none less available, and is the same array each time",
    [modelsArbitrary, anyOwn],
    ([models, own]) => {
      const reach = applyOwnKeys(models, own)
      assert.strictEqual(applyOwnKeys(models, own), reach)
      assert.deepStrictEqual(
        reach.map(({ id }) => id),
        models.map(({ id }) => id)
      )
      reach.forEach((model, index) => {
        if (models[index]?.available === true) assert.isTrue(model.available)
      })
      const preferred = preferOwnKeyModels(reach, own)
      assert.strictEqual(preferred.length === 0, reach.length === 0)
      if (preferred !== reach) for (const model of preferred) assert.include(own, model.provider)
    }
  )
})
