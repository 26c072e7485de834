import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { makeSandboxModelProvider, sandboxModel } from "@berth/infra/ai/sandbox/SandboxModelProvider"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Schedule, type Scope, Stream, Tracer } from "effect"
import OpenAI from "openai"
import { aimockServer } from "../fakes/models/AimockServer.ts"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import {
  anthropicWire,
  streamChat,
  runChat,
  connectProvider,
  waitForCondition,
  googleWire,
  groqWire,
  helloMessages,
  openAiWire,
  modelProtocols,
  joinText,
  modelWires
} from "../fakes/models/ModelWires.ts"
import { assertMatches } from "../support/Matching.ts"

/** Spec of every model provider. */
const provides = (name: string, make: Effect.Effect<{ provider: ModelProvider; model: string }, never, Scope.Scope>) =>
  describe(`the provider ${name}`, () => {
    it.scopedLive("answers in text that ends with what it took", () =>
      Effect.gen(function* () {
        const { model, provider } = yield* make
        const chunks = yield* runChat(provider, model)
        assert.include(joinText(chunks), "Hello")
        assert.isTrue(chunks.slice(0, -1).every(({ type }) => type === "delta"))
        const last = chunks.at(-1)
        assertMatches(last, { type: "done", finishReason: "stop" })
        if (last?.type === "done" && last.usage !== null) {
          assert.strictEqual(last.usage.totalTokens, last.usage.promptTokens + last.usage.completionTokens)
          assert.isAbove(last.usage.promptTokens, 0)
        } else assert.fail("it did not count")
      })
    )

    it.scopedLive("is healthy", () =>
      Effect.gen(function* () {
        assert.isTrue(yield* (yield* make).provider.healthy)
      })
    )

    it.scopedLive("fails in the words of the port for a model it does not have", () =>
      Effect.gen(function* () {
        const { provider } = yield* make
        const failure = yield* Effect.flip(runChat(provider, "acme/none"))
        assertMatches(failure, { _tag: "ProviderFailed", provider: provider.name, kind: "refused" })
      })
    )

    it.scopedLive("can be interrupted", () =>
      Effect.gen(function* () {
        const { model, provider } = yield* make
        const first = yield* Stream.runHead(streamChat(provider, model, helloMessages, {}))
        assert.strictEqual(first._tag, "Some")
      })
    )
  })

provides("sandbox", Effect.succeed({ provider: makeSandboxModelProvider(), model: sandboxModel.id }))
for (const { model, name, makeFake } of modelWires) {
  provides(
    name,
    Effect.map(
      Effect.flatMap(makeFake, (access) => connectProvider(name, access)),
      (provider) => ({ provider, model })
    )
  )
}
provides(
  "of a mock by others",
  Effect.gen(function* () {
    const server = yield* aimockServer
    server.on({ model: "gpt-4o", userMessage: "Hello" }, { content: "Hello to you too" })
    return { provider: yield* connectProvider("openai", { baseUrl: `${server.url}/v1` }), model: "openai/gpt-4o" }
  })
)

describe("FakeOpenAi", () => {
  it.scopedLive("is compatible with OpenAI's client", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeOpenAi()
      const client = (apiKey: string) => new OpenAI({ apiKey, baseURL: fake.baseUrl, maxRetries: 0 })
      const messages = [{ role: "user" as const, content: "Hello" }]
      const whole = yield* Effect.promise(() =>
        client(fake.apiKey).chat.completions.create({ model: "gpt-4o", messages })
      )
      assert.strictEqual(whole.choices[0]?.message.content, "You said: Hello")
      const streamed = yield* Effect.promise(async () => {
        let text = ""
        const stream = await client(fake.apiKey).chat.completions.create({ model: "gpt-4o", messages, stream: true })
        for await (const { choices } of stream) text += choices[0]?.delta.content ?? ""
        return text
      })
      assert.strictEqual(streamed, "You said: Hello")
      const refused = yield* Effect.flip(
        Effect.tryPromise(() => client("sk-wrong").chat.completions.create({ model: "gpt-4o", messages }))
      )
      assert.instanceOf(refused.error, OpenAI.AuthenticationError)
    })
  )
})

describe.each(modelProtocols)("the wire to $name", ({ model, name, makeFake }) => {
  it.scopedLive("passes deltas on as they arrive, with the vendor's usage", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      fake.respondWith({ type: "answer", pieces: ["Grüß ", "Gott, ", "日本 🚢"] })
      const chunks = yield* runChat(yield* connectProvider(name, fake), model)
      assert.deepStrictEqual(
        chunks.filter((chunk) => chunk.type === "delta" && chunk.text !== ""),
        [
          { type: "delta", text: "Grüß " },
          { type: "delta", text: "Gott, " },
          { type: "delta", text: "日本 🚢" }
        ]
      )
      assert.deepStrictEqual(chunks.at(-1), {
        type: "done",
        finishReason: "stop",
        usage: { promptTokens: 7, completionTokens: 3, totalTokens: 10 }
      })
    })
  )

  it.scopedLive("reuses connections", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      const provider = yield* connectProvider(name, fake)
      for (const _ of [1, 2, 3, 4, 5, 6]) yield* runChat(provider, model)
      assert.lengthOf(fake.received, 6)
      // The client may open a second connection just before the first is free.
      assert.isAtMost(fake.connectionCount(), 2)
    })
  )

  it.scopedLive("does not wait for the connection to close after the last event", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      fake.respondWith({ type: "answer", pieces: ["Hi"], staysOpen: true })
      // The fake keeps it open.
      assert.strictEqual(joinText(yield* runChat(yield* connectProvider(name, fake), model)), "Hi")
    })
  )

  it.scopedLive("reports missing usage", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      fake.respondWith({ type: "answer", pieces: ["Hi"], withoutUsage: true })
      assert.deepStrictEqual((yield* runChat(yield* connectProvider(name, fake), model)).at(-1), {
        type: "done",
        finishReason: "stop",
        usage: null
      })
    })
  )

  it.scopedLive("sends no trace headers to vendors and no key to traces", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      const attributes: Array<unknown> = []
      const tracer = Tracer.make({
        context: (run) => run(),
        span: (label, parent, context, links, startTime, kind) => ({
          _tag: "Span",
          name: label,
          parent,
          context,
          links,
          kind,
          spanId: label,
          traceId: "trace",
          sampled: true,
          attributes: new Map(),
          status: { _tag: "Started", startTime },
          end: () => {},
          attribute: (key, value) => void attributes.push([key, value]),
          event: () => {},
          addLinks: () => {}
        })
      })
      yield* runChat(yield* connectProvider(name, fake), model).pipe(
        Effect.withSpan("caller"),
        Effect.withTracer(tracer)
      )
      const [request] = fake.received
      for (const header of ["traceparent", "b3", "tracestate"]) assert.notProperty(request?.headers, header)
      assert.include(JSON.stringify(request?.headers), fake.apiKey)
      assert.notInclude(request?.path, fake.apiKey)
      assert.isAbove(attributes.length, 5)
      assert.notInclude(JSON.stringify(attributes), fake.apiKey)
    })
  )

  it.scopedLive("redacts a key that the vendor quotes", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      const apiKey = "sk-wrong-but-secret"
      const lines: Array<string> = []
      const logger = Logger.make(({ cause, message }) => void lines.push(JSON.stringify([message, cause])))
      const provider = yield* connectProvider(name, { baseUrl: fake.baseUrl, apiKey })
      const failure = yield* Effect.flip(runChat(provider, model)).pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
        Effect.tap(provider.healthy)
      )
      assertMatches(failure, { kind: "unauthorized" })
      assert.notInclude(JSON.stringify([failure, failure.message, failure.stack, lines]), apiKey)
      fake.respondWith({ type: "refuse", status: 500, error: { message: `debug: ${fake.apiKey}` } })
      const quoted = yield* Effect.flip(runChat(yield* connectProvider(name, fake), model))
      assert.include(quoted.reason, "debug: ")
      assert.notInclude(quoted.reason, fake.apiKey)
    })
  )

  it.scopedLive("is unhealthy with a wrong key and without a server", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      assert.isFalse(yield* (yield* connectProvider(name, { baseUrl: fake.baseUrl, apiKey: "wrong" })).healthy)
      const nowhere = yield* connectProvider(name, { baseUrl: "http://127.0.0.1:9/v1" })
      assertMatches(yield* Effect.flip(runChat(nowhere, model)), { kind: "unreachable" })
      assert.isFalse(yield* nowhere.healthy)
    })
  )

  it.scopedLive("closes the vendor's response when the answer is interrupted", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      const provider = yield* connectProvider(name, fake)
      for (const behavior of [{ type: "hang" }, { type: "break-off", pieces: ["Hi"], by: "hanging" }] as const) {
        const before = fake.abandonedRequests()
        fake.respondWith(behavior)
        const fiber = yield* Effect.fork(runChat(provider, model))
        yield* waitForCondition(() => fake.received.length > before)
        yield* Fiber.interrupt(fiber)
        yield* waitForCondition(() => fake.abandonedRequests() === before + 1)
      }
      fake.respondWith({ type: "endless" })
      yield* Stream.runDrain(Stream.take(streamChat(provider, model, helloMessages, {}), 3))
      yield* waitForCondition(() => fake.abandonedRequests() === 3)
    })
  )

  it.scopedLive("closes a response that is no answer", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      fake.respondWith({ type: "raw", contentType: "text/html", body: "<h1>Please wait</h1>", staysOpen: true })
      assertMatches(yield* Effect.flip(runChat(yield* connectProvider(name, fake), model)), {
        kind: "nonsense"
      })
      yield* waitForCondition(() => fake.abandonedRequests() === 1)
    })
  )

  it.scopedLive("reads no more than its consumer (back-pressure)", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      const provider = yield* connectProvider(name, fake)
      fake.respondWith({ type: "endless" })
      const pull = yield* Stream.toPull(streamChat(provider, model, helloMessages, {}))
      yield* pull
      // The stream stops when the buffers are full.
      let last = -1
      yield* Effect.suspend(() => {
        const stands = fake.streamedBytes() === last
        last = fake.streamedBytes()
        return Effect.succeed(stands)
      }).pipe(
        Effect.repeat({ until: (stands) => stands, schedule: Schedule.spaced("200 millis") }),
        Effect.timeout("60 seconds")
      )
      assert.isAbove(last, 0)
      assert.isBelow(last, 64 * 1024 * 1024)
    })
  )
})

describe("A chat request", () => {
  const messages: ReadonlyArray<ChatMessage> = [
    { role: "system", content: "Be brief" },
    { role: "user", content: "Hello" }
  ]
  const options = { temperature: 0.2, topP: 0.9, maxTokens: 50 }

  it.scopedLive("has OpenAI's format", () =>
    Effect.gen(function* () {
      const fake = yield* openAiWire.makeFake
      const provider = yield* connectProvider("openai", fake)
      yield* Stream.runDrain(streamChat(provider, "openai/gpt-4o", messages, options))
      yield* Stream.runDrain(streamChat(provider, "openai/gpt-5", messages, options))
      const [request, reasoning] = fake.received
      assert.deepStrictEqual(request?.body, {
        model: "gpt-4o",
        messages,
        stream: true,
        stream_options: { include_usage: true },
        temperature: 0.2,
        top_p: 0.9,
        max_tokens: 50
      })
      // Like OpenAI, the fake rejects options that the model does not support.
      assertMatches(reasoning?.body, { model: "gpt-5", max_completion_tokens: 50 })
    })
  )

  it.scopedLive("has Anthropic's format", () =>
    Effect.gen(function* () {
      const fake = yield* anthropicWire.makeFake
      const provider = yield* connectProvider("anthropic", fake)
      const ask = (model: string) => Stream.runDrain(streamChat(provider, model, messages, options))
      // Like Anthropic, the fake rejects options that these models do not support.
      yield* Effect.forEach(["claude-opus-4-6", "claude-opus-4-7", "claude-sonnet-4"], (name) =>
        ask(`anthropic/${name}`)
      )
      yield* Stream.runDrain(streamChat(provider, "anthropic/claude-3-haiku", helloMessages, { temperature: 1.7 }))
      const [request, later, alias, old] = fake.received
      assertMatches(request, {
        path: "/v1/messages",
        headers: { "x-api-key": fake.apiKey, "anthropic-version": "2023-06-01" }
      })
      const body = { system: "Be brief", messages: [{ role: "user", content: "Hello" }], max_tokens: 50, stream: true }
      assert.deepStrictEqual(request?.body, { model: "claude-opus-4-6", temperature: 0.2, ...body })
      assert.deepStrictEqual(later?.body, { model: "claude-opus-4-7", ...body })
      assertMatches(alias?.body, { model: "claude-sonnet-4-0" })
      assertMatches(old?.body, { model: "claude-3-haiku-20240307", max_tokens: 4096, temperature: 1 })
    })
  )

  it.scopedLive("has Google's format, with the key in a header only", () =>
    Effect.gen(function* () {
      const fake = yield* googleWire.makeFake
      const provider = yield* connectProvider("google", fake)
      yield* Stream.runDrain(streamChat(provider, "google/gemini-2.5-pro", messages, options))
      yield* Effect.flip(runChat(provider, "google/../../elsewhere"))
      const [request, escaped] = fake.received
      assertMatches(request, {
        path: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        headers: { "x-goog-api-key": fake.apiKey }
      })
      assert.deepStrictEqual(request?.body, {
        systemInstruction: { parts: [{ text: "Be brief" }] },
        contents: [{ role: "user", parts: [{ text: "Hello" }] }],
        generationConfig: { temperature: 0.2, topP: 0.9, maxOutputTokens: 50 }
      })
      assert.strictEqual(escaped?.path, "/v1beta/models/..%2F..%2Felsewhere:streamGenerateContent?alt=sse")
    })
  )

  it.scopedLive.each([anthropicWire, googleWire])("alternates turns for $name", ({ model, name, makeFake: some }) =>
    Effect.gen(function* () {
      const fake = yield* some
      const provider = yield* connectProvider(name, fake)
      const talks: ReadonlyArray<ReadonlyArray<ChatMessage>> = [
        [{ role: "system", content: "You greet people" }],
        [
          { role: "assistant", content: "Welcome" },
          { role: "user", content: "Hi" },
          { role: "user", content: " " },
          { role: "assistant", content: "" },
          { role: "user", content: "Hello" }
        ],
        [
          { role: "user", content: "Hello" },
          { role: "assistant", content: "Hello to you" }
        ]
      ]
      // Anthropic rejects blanks and an assistant's first or last message, Google the last one; so do their fakes.
      for (const talk of talks) assertMatches((yield* runChat(provider, model, talk)).at(-1), { type: "done" })
    })
  )

  it.scopedLive("accepts a complete answer of a compatible server that does not stream", () =>
    Effect.gen(function* () {
      const fake = yield* openAiWire.makeFake
      const body = JSON.stringify({
        choices: [{ message: { role: "assistant", content: "All at once" } }],
        usage: null
      })
      fake.respondWith({ type: "raw", contentType: "application/json", body })
      const chunks = yield* runChat(yield* connectProvider("openai", fake), openAiWire.model)
      assert.strictEqual(joinText(chunks), "All at once")
      assert.deepStrictEqual(chunks.at(-1), { type: "done", finishReason: "stop", usage: null })
    })
  )
})

describe("An independent mock server", () => {
  const versions = { anthropic: "/v1", google: "/v1beta" } as const
  it.scopedLive.each([["anthropic", anthropicWire.model] as const, ["google", googleWire.model] as const])(
    "is compatible with the %s provider",
    ([name, model]) =>
      Effect.gen(function* () {
        const server = yield* aimockServer
        const usage = { input_tokens: 9, output_tokens: 4, prompt_tokens: 9, completion_tokens: 4 }
        server.onMessage("Hello", { content: "Hi from the mock, in more than one piece", usage }, { chunkSize: 5 })
        const provider = yield* connectProvider(name, { baseUrl: `${server.url}${versions[name]}` })
        const chunks = yield* runChat(provider, model)
        assert.strictEqual(joinText(chunks), "Hi from the mock, in more than one piece")
        assert.isAbove(chunks.length, 3)
        assert.deepStrictEqual(chunks.at(-1), {
          type: "done",
          finishReason: "stop",
          usage: { promptTokens: 9, completionTokens: 4, totalTokens: 13 }
        })
        server.nextRequestError(429, { message: "Rate limited", type: "rate_limit_error" })
        assertMatches(yield* Effect.flip(runChat(provider, model)), { kind: "rate-limited" })
        server.setChaos({ malformedRate: 1 })
        assertMatches(yield* Effect.flip(runChat(provider, model)), { kind: "nonsense" })
        server.setChaos({ disconnectRate: 1 })
        assertMatches(yield* Effect.flip(runChat(provider, model)), { kind: "unreachable" })
      })
  )
})

describe("Model lists of providers", () => {
  it.scopedLive("contain the models of a key whose price is known", () =>
    Effect.gen(function* () {
      const listed = Effect.fn(function* (wire: typeof openAiWire) {
        return yield* (yield* connectProvider(wire.name, yield* wire.makeFake)).models
      })
      const idsOf = (wire: typeof openAiWire) => Effect.map(listed(wire), (models) => models.map(({ id }) => id))
      assert.include(yield* idsOf(openAiWire), "openai/gpt-4o")
      assertMatches(yield* listed(groqWire), [
        { id: "groq/llama-3.3-70b-versatile", provider: "groq", inputCost: 0.59 }
      ])
      // Suffixes of the vendor are ignored.
      assert.deepStrictEqual(
        yield* idsOf(anthropicWire),
        ["opus-5", "opus-4-7", "opus-4-6", "haiku-4-5", "sonnet-4", "3-haiku"].map((name) => `anthropic/claude-${name}`)
      )
      assert.deepStrictEqual(
        yield* idsOf(googleWire),
        ["2.5-pro", "2.5-flash", "3.1-pro-preview", "3.5-flash"].map((name) => `google/gemini-${name}`)
      )
    })
  )

  it.scopedLive("do not make an invalid OpenRouter key healthy", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeOpenAi({ modelsArePublic: true, hasKeyPath: true })
      assert.isTrue(yield* (yield* connectProvider("openrouter", fake)).healthy)
      const stranger = yield* connectProvider("openrouter", { baseUrl: fake.baseUrl, apiKey: "sk-other" })
      assert.isFalse(yield* stranger.healthy)
    })
  )
})
