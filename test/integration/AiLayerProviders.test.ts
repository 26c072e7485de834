import { ModelCatalog, ModelProviders } from "@berth/domain/ai/models/ModelProviders"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import { AiSettings, defaultAiSettings } from "@berth/domain/ai/calls/AiSettings"
import { type ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { type ModelCallRecord, ModelUsage } from "@berth/domain/ai/calls/ModelUsage"
import { type ModelKeys, OwnerKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import * as OpenRouterModelCatalog from "@berth/infra/ai/catalog/OpenRouterModelCatalog"
import * as ConfiguredModelProviders from "@berth/infra/ai/ConfiguredModelProviders"
import { sandboxModel } from "@berth/infra/ai/sandbox/SandboxModelProvider"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Context, Duration, Effect, Layer, Logger, Redacted, Schedule, Stream } from "effect"
import { createServer } from "node:net"
import { aimockServer } from "../fakes/models/AimockServer.ts"
import { makeFakeOpenAi, type FakeOpenAiOptions } from "../fakes/models/FakeOpenAi.ts"
import { anthropicWire, waitForCondition, googleWire, helloMessages } from "../fakes/models/ModelWires.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { assertMatches } from "../support/Matching.ts"

const openRouterModels = ["anthropic/claude-opus-4.6", "openai/gpt-4o-mini"].map((id, index) => ({
  id,
  name: `Vendor: Model ${index}`,
  description: "From the list",
  context_length: 200000 - index,
  pricing: { prompt: "0.000005", completion: "0.000025" },
  architecture: { input_modalities: ["text"], output_modalities: ["text"] }
}))

const listing = (options: FakeOpenAiOptions = {}) =>
  makeFakeOpenAi({ models: openRouterModels, modelsArePublic: true, hasKeyPath: true, ...options })

const makeCatalog = (
  options: OpenRouterModelCatalog.OpenRouterModelCatalogOptions,
  providers: ConfiguredModelProviders.ModelProvidersOptions = { sandbox: {} }
) =>
  Layer.build(
    OpenRouterModelCatalog.layer(options).pipe(Layer.provide(ConfiguredModelProviders.layer(providers)))
  ).pipe(Effect.flatMap((context) => Effect.provide(ModelCatalog, context)))

describe("the catalog", () => {
  it.scopedLive("is OpenRouter's list where that can be had, and available with a key", () =>
    Effect.gen(function* () {
      const fake = yield* listing()
      const openrouter = { baseUrl: fake.baseUrl, apiKey: Redacted.make(fake.apiKey) }
      const { all } = yield* makeCatalog({ openRouterUrl: fake.baseUrl }, { openrouter, sandbox: {} })
      const models = yield* all
      const [first, second, ...others] = models.filter(({ provider }) => provider === "openrouter")
      assert.deepStrictEqual(first, {
        id: "anthropic/claude-opus-4-6",
        name: "Model 0",
        description: "From the list",
        provider: "openrouter",
        available: true,
        inputCost: 5,
        outputCost: 25,
        contextWindow: 200000,
        tags: ["general", "coding", "analysis", "creative"]
      })
      assertMatches(second, { id: "openai/gpt-4o-mini", available: true })
      assert.deepStrictEqual(others, [])
      assert.deepInclude(models, sandboxModel)
      // The list is public: whoever keeps it need not know whose it is.
      assert.notProperty(fake.received.find(({ path }) => path === "/v1/models")?.headers, "authorization")
    })
  )

  it.scopedLive("is the shipped one on a machine without a network, at once, and says so once", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const logger = Logger.make(({ message }) => void lines.push(message))
      yield* Effect.gen(function* () {
        const options = {
          openRouterUrl: "http://127.0.0.1:9/v1",
          retryAfter: "1 millis",
          loadTimeout: "1 hour"
        } as const
        const { all } = yield* makeCatalog(options)
        const models = yield* all
        assertMatches(
          models.find(({ id }) => id === "anthropic/claude-opus-4-6"),
          { available: false }
        )
        assert.deepStrictEqual(
          models.filter(({ available }) => available),
          [sandboxModel]
        )
        for (const _ of [1, 2, 3]) yield* Effect.zipRight(Effect.sleep("20 millis"), all)
      }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      assert.lengthOf(lines, 1)
    })
  )

  it.scopedLive("waits for an unresponsive network at most for its load timeout, and only on the first load", () =>
    Effect.gen(function* () {
      const silent = createServer()
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void silent.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => silent.close())
      )
      const address = silent.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const options = {
        openRouterUrl: `http://127.0.0.1:${port}`,
        loadTimeout: "3 seconds",
        retryAfter: "0 millis"
      } as const
      const { all } = yield* makeCatalog(options)
      yield* all
      const [second, models] = yield* Effect.timed(all)
      assert.isBelow(Duration.toSeconds(second), 3)
      assert.isAbove(models.length, 60)
    })
  )

  it.scopedLive("answers a stale list and renews it behind that", () =>
    Effect.gen(function* () {
      const models: Array<unknown> = [...openRouterModels]
      const fake = yield* listing({ models })
      const { all } = yield* makeCatalog({ openRouterUrl: fake.baseUrl, freshFor: "0 millis" }, { sandbox: null })
      const has = (id: string) => Effect.map(all, (list) => list.some((model) => model.id === id))
      assert.isTrue(yield* has("openai/gpt-4o-mini"))
      models.push({ ...openRouterModels[1], id: "openai/gpt-9" })
      yield* has("openai/gpt-9").pipe(
        Effect.repeat({ until: (there) => there, schedule: Schedule.spaced("10 millis") }),
        Effect.timeout("30 seconds")
      )
    })
  )
})

describe("the AI layer over real wires", () => {
  /** The layer with its real providers and catalog, as it lives in the backend, and what usage it recorded. */
  const firstByteTimeout = Duration.seconds(5)
  const aiOf = (
    providers: ConfiguredModelProviders.ModelProvidersOptions,
    openRouterUrl: string | null,
    keysOf: (userId: UserId) => ModelKeys = () => ({})
  ) =>
    Effect.gen(function* () {
      const recorded: Array<ModelCallRecord> = []
      const live = ConfiguredModelProviders.layer(providers)
      const limits = Layer.succeed(AiSettings, {
        ...defaultAiSettings,
        // Of a test in which one vendor hangs; also a slow machine's other one must say something meanwhile.
        firstByteTimeout,
        retry: { ...defaultAiSettings.retry, base: Duration.millis(5) }
      })
      const context = yield* Layer.build(
        AiLayer.Default.pipe(
          Layer.provide([
            live,
            Layer.provide(OpenRouterModelCatalog.layer({ openRouterUrl }), live),
            limits,
            Layer.succeed(OwnerKeys, { find: (userId) => Effect.succeed(keysOf(userId)) }),
            Layer.mock(ModelUsage, { record: (call) => Effect.sync(() => void recorded.push(call)) }),
            Layer.succeed(IdGenerator, { next: (prefix) => Effect.succeed(`${prefix}_1` as const) })
          ])
        )
      )
      return { ai: Context.get(context, AiLayer), recorded }
    })
  const request = { messages: helloMessages, model: "claude-opus-4-6", caller: { userId: null, agentId: null } }

  it.scopedLive("falls back from a vendor that hangs to one that works, and counts", () =>
    Effect.gen(function* () {
      const router = yield* listing()
      const openai = yield* makeFakeOpenAi()
      router.respondWith({ type: "hang" })
      const { ai, recorded } = yield* aiOf(
        {
          openrouter: { baseUrl: router.baseUrl, apiKey: Redacted.make(router.apiKey) },
          openai: { baseUrl: openai.baseUrl, apiKey: Redacted.make(openai.apiKey) },
          sandbox: null
        },
        router.baseUrl
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

  it.scopedLive("tries again what the vendor says will pass", () =>
    Effect.gen(function* () {
      const router = yield* listing()
      router.respondWith(
        { type: "refuse", status: 429, error: {}, headers: { "retry-after-ms": "10" } },
        { type: "refuse", status: 502, error: {} }
      )
      const openrouter = { baseUrl: router.baseUrl, apiKey: Redacted.make(router.apiKey) }
      const { ai } = yield* aiOf({ openrouter, sandbox: null }, router.baseUrl)
      const answer = yield* ai.complete(request)
      assertMatches(answer, {
        model: "anthropic/claude-opus-4-6",
        attempts: [{ tries: 3, outcome: "answered" }]
      })
      assertMatches(router.received.at(-1)?.body, { model: "anthropic/claude-opus-4.6" })
    })
  )

  it.scopedLive("answers from the sandbox on a machine without keys", () =>
    Effect.gen(function* () {
      const { ai } = yield* aiOf({ sandbox: {} }, null)
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

  it.scopedLive("goes on to another vendor, and runs with a vendor's key what is that vendor's", () =>
    Effect.gen(function* () {
      const [anthropic, google] = [yield* anthropicWire.makeFake, yield* googleWire.makeFake]
      const { ai } = yield* aiOf(
        {
          anthropic: { baseUrl: anthropic.baseUrl, apiKey: Redacted.make(anthropic.apiKey) },
          google: { baseUrl: google.baseUrl, apiKey: Redacted.make(google.apiKey) },
          sandbox: null
        },
        null
      )
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

  it.scopedLive("calls with an owner's own key for that owner only and sends it to no other vendor", () =>
    Effect.gen(function* () {
      const router = yield* listing()
      const [ada, bob, eve] = [UserId.make("usr_ada"), UserId.make("usr_bob"), UserId.make("usr_eve")]
      const wrong = "sk-bobs-wrong-but-secret"
      const keys = new Map<UserId, ModelKeys>([
        [ada, { openrouter: Redacted.make(router.apiKey) }],
        [bob, { openrouter: Redacted.make(wrong) }]
      ])
      const lines: Array<string> = []
      const logger = Logger.make(({ annotations, cause, message }) => {
        lines.push(JSON.stringify([message, cause, [...annotations]]))
      })
      yield* Effect.gen(function* () {
        const { ai, recorded } = yield* aiOf(
          { sandbox: {}, baseUrls: { openrouter: router.baseUrl } },
          router.baseUrl,
          (userId) => keys.get(userId) ?? {}
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
      }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
    })
  )

  it.scopedLive("makes one provider of a key, and tells keys apart without them", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(ConfiguredModelProviders.layer({ sandbox: null }))
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

  it.scopedLive("speaks with a mock by others, errors included", () =>
    Effect.gen(function* () {
      const server = yield* aimockServer
      server.onMessage("Hello", { content: "Hi from the mock, in more than one piece" }, { chunkSize: 5 })
      const openai = { baseUrl: `${server.url}/v1`, apiKey: Redacted.make("any") }
      const { ai } = yield* aiOf({ openai, sandbox: null }, null)
      const named = { ...request, model: "gpt-4o" }
      const answer = yield* ai.open(named)
      const events = Chunk.toReadonlyArray(yield* Stream.runCollect(answer.events))
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
