import { streamFromReader } from "@berth/domain/ai/streams/ChunkReader"
import { type ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { type ModelKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { ModelProviders } from "@berth/domain/ai/models/ModelProviders"
import { UserId } from "@berth/domain/shared/UserId"
import * as ConfiguredModelProviders from "@berth/infra/ai/ConfiguredModelProviders"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Context, Duration, Effect, Layer, Redacted, Stream } from "effect"
import { aimockServer } from "../fakes/models/AimockServer.ts"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { anthropicWire, googleWire, groqWire, helloMessages, waitForCondition } from "../fakes/models/ModelWires.ts"
import { accessTo, buildAiLayer, fakeOpenRouter } from "../support/AiLayers.ts"
import { assertMatches } from "../support/Matching.ts"
import { recordLogs } from "../support/RecordedTelemetry.ts"

describe("AiLayer over real providers", () => {
  const request = { messages: helloMessages, model: "claude-opus-4-6", caller: { userId: null, agentId: null } }

  it.scopedLive("The AI layer falls back from a vendor that hangs and records the usage of the answer", () =>
    Effect.gen(function* () {
      // The other vendor must answer in this time even on a slow machine.
      const firstByteTimeout = Duration.seconds(5)
      const router = yield* fakeOpenRouter
      const openai = yield* makeFakeOpenAi()
      router.respondWith({ type: "hang" })
      const { ai, recorded } = yield* buildAiLayer(
        { openrouter: accessTo(router), openai: accessTo(openai) },
        { openRouterUrl: router.baseUrl, settings: { firstByteTimeout } }
      )
      const answer = yield* ai.complete({ ...request, model: "openai/gpt-4o-mini" })
      assertMatches(answer, { text: "You said: Hello", model: "openai/gpt-4o-mini", provider: "openai" })
      assert.deepStrictEqual(
        answer.attempts.map(({ outcome, provider }) => [provider, outcome]),
        [
          ["openrouter", "timeout"],
          ["openai", "answered"]
        ]
      )
      assert.isAtLeast(answer.overheadMs, Duration.toMillis(firstByteTimeout))
      assertMatches(recorded, [{ provider: "openai", promptTokens: 7, completionTokens: 3, costUsd: 0.00011 }])
      yield* waitForCondition(() => router.abandonedRequests() === 1)
    })
  )

  it.scopedLive("The AI layer retries temporary failures of a vendor", () =>
    Effect.gen(function* () {
      const router = yield* fakeOpenRouter
      router.respondWith(
        { type: "refuse", status: 429, error: {}, headers: { "retry-after-ms": "10" } },
        { type: "refuse", status: 502, error: {} }
      )
      const { ai } = yield* buildAiLayer({ openrouter: accessTo(router) }, { openRouterUrl: router.baseUrl })
      const answer = yield* ai.complete(request)
      assertMatches(answer, {
        model: "anthropic/claude-opus-4-6",
        attempts: [{ tries: 3, outcome: "answered" }]
      })
      assertMatches(router.received.at(-1)?.body, { model: "anthropic/claude-opus-4.6" })
    })
  )

  it.scopedLive("The AI layer answers from the sandbox without keys", () =>
    Effect.gen(function* () {
      const { ai } = yield* buildAiLayer({ sandbox: true })
      const messages: ReadonlyArray<ChatMessage> = [
        { role: "user", content: "My name is Ada" },
        { role: "assistant", content: "Nice to meet you" },
        { role: "user", content: "What is my name?" }
      ]
      const answer = yield* ai.complete({ ...request, messages })
      assertMatches(answer, { model: "sandbox/echo", provider: "sandbox", text: "Your name is Ada." })
      assert.deepStrictEqual(yield* ai.health(), { status: "healthy", providers: { sandbox: true } })
      assertMatches(yield* ai.select("vision"), { model: { id: "sandbox/echo" } })
    })
  )

  it.scopedLive("The AI layer offers the models of configured keys and falls back to another vendor", () =>
    Effect.gen(function* () {
      const [anthropic, google] = [yield* anthropicWire.makeFake, yield* googleWire.makeFake]
      const { ai } = yield* buildAiLayer({
        anthropic: accessTo(anthropic),
        google: accessTo(google)
      })
      const { models } = yield* ai.models()
      const available = models.filter((model) => model.available)
      assert.deepStrictEqual(new Set(available.map(({ provider }) => provider)), new Set(["anthropic", "google"]))
      assert.isTrue(available.every(({ id }) => /^(anthropic\/|google\/gemini-)/.test(id)))
      assert.deepStrictEqual(yield* ai.health(), { status: "healthy", providers: { anthropic: true, google: true } })

      assertMatches(yield* ai.complete(request), { model: "anthropic/claude-opus-4-6", provider: "anthropic" })
      const refusal = { type: "refuse", status: 400, error: { type: "invalid_request_error", message: "No" } } as const
      anthropic.respondWith(refusal)
      const answer = yield* ai.complete(request)
      assertMatches(answer.attempts, [
        { model: "anthropic/claude-opus-4-6", provider: "anthropic", outcome: "refused" },
        { provider: "google", outcome: "answered" }
      ])
    })
  )

  it.scopedLive("The AI layer uses an owner's key for that owner only and sends it to no other vendor", () =>
    Effect.gen(function* () {
      const router = yield* fakeOpenRouter
      const [ada, bob, eve] = [UserId.make("usr_ada"), UserId.make("usr_bob"), UserId.make("usr_eve")]
      const wrong = "sk-bobs-wrong-but-secret"
      const keys = new Map<UserId, ModelKeys>([
        [ada, { openrouter: Redacted.make(router.apiKey) }],
        [bob, { openrouter: Redacted.make(wrong) }]
      ])
      const { layer: logger, lines } = recordLogs()
      yield* Effect.gen(function* () {
        const { ai, recorded } = yield* buildAiLayer(
          { sandbox: true, baseUrls: { openrouter: router.baseUrl } },
          { openRouterUrl: router.baseUrl, keysOf: (userId) => keys.get(userId) ?? {} }
        )
        const ask = (userId: UserId) => ai.complete({ ...request, caller: { userId, agentId: null } })
        assertMatches(yield* ask(ada), { provider: "openrouter", ownKey: true })
        assertMatches(yield* ask(eve), { provider: "sandbox", ownKey: false })
        const failure = yield* Effect.flip(ask(bob))
        assert.include(failure.message, "your openrouter key was refused")
        assert.notInclude(JSON.stringify([failure, failure.message, failure.stack, lines]), wrong)
        assert.isAbove(lines.length, 0)
        const shown = router.received
          .filter(({ path }) => path === "/v1/chat/completions")
          .map(({ headers }) => headers.authorization)
        assert.deepStrictEqual(shown, [`Bearer ${router.apiKey}`, `Bearer ${wrong}`])
        assertMatches(recorded, [
          { userId: ada, ownKey: true },
          { userId: eve, ownKey: false }
        ])
      }).pipe(Effect.provide(logger))
    })
  )

  it.scopedLive(
    "The AI layer answers with an owner's Groq key where the platform has none, and reports a refused one",
    () =>
      Effect.gen(function* () {
        const groq = yield* groqWire.makeFake
        const [ada, bob] = [UserId.make("usr_ada"), UserId.make("usr_bob")]
        const keyOf = (userId: UserId) => Redacted.make(userId === ada ? groq.apiKey : "gsk-wrong")
        const { ai } = yield* buildAiLayer(
          { sandbox: true, baseUrls: { groq: groq.baseUrl } },
          { keysOf: (userId) => ({ groq: keyOf(userId) }) }
        )
        const ask = (userId: UserId) =>
          ai.complete({ ...request, model: groqWire.model, caller: { userId, agentId: null } })
        assertMatches(yield* ask(ada), { model: groqWire.model, provider: "groq", ownKey: true })
        assert.include((yield* Effect.flip(ask(bob))).message, "your groq key was refused")
      })
  )

  it.scopedLive("ModelProviders.withKey returns one provider per key and an id without the key", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(ConfiguredModelProviders.layer({}))
      const { withKey } = Context.get(context, ModelProviders)
      const first = yield* withKey("openai", Redacted.make("sk-one-secret"))
      const again = yield* withKey("openai", Redacted.make("sk-one-secret"))
      const other = yield* withKey("openai", Redacted.make("sk-two-secret"))
      const elsewhere = yield* withKey("openrouter", Redacted.make("sk-one-secret"))
      assert.strictEqual(again.provider, first.provider)
      assert.notStrictEqual(other.provider, first.provider)
      assert.strictEqual(new Set([first, again, other, elsewhere].map(({ keyId }) => keyId)).size, 3)
      assert.notInclude(first.keyId, "secret")
    })
  )

  it.scopedLive("The AI layer reads answers and errors of an independent mock server", () =>
    Effect.gen(function* () {
      const server = yield* aimockServer
      server.onMessage("Hello", { content: "Hi from the mock, in more than one piece" }, { chunkSize: 5 })
      const openai = { baseUrl: `${server.url}/v1`, apiKey: Redacted.make("any") }
      const { ai } = yield* buildAiLayer({ openai })
      const named = { ...request, model: "gpt-4o" }
      const answer = yield* ai.open(named)
      const events = Chunk.toReadonlyArray(yield* Stream.runCollect(streamFromReader(answer.read)))
      assert.strictEqual(answer.opening.model, "openai/gpt-4o")
      assert.isAbove(events.filter(({ type }) => type === "delta").length, 3)
      assertMatches(events.at(-1), { type: "done", usageIsEstimated: false })
      assertMatches(yield* ai.health(), { status: "healthy" })

      server.nextRequestError(429, { message: "Rate limited", type: "rate_limit_error" })
      assertMatches((yield* ai.complete(named)).attempts, [{ outcome: "answered", tries: 2 }])

      server.setChaos({ malformedRate: 1 })
      assertMatches(yield* Effect.flip(ai.complete(named)), { _tag: "ProviderFailed", kind: "nonsense" })
      server.setChaos({ disconnectRate: 1 })
      assertMatches(yield* Effect.flip(ai.complete(named)), { _tag: "ProviderFailed", kind: "unreachable" })
    })
  )
})
