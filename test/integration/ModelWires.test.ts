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

/** What every provider of models does, whoever is behind it. */
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

describe("the stand-in", () => {
  it.scopedLive("is taken for OpenAI by OpenAI's own client", () =>
    Effect.gen(function* () {
      const standIn = yield* makeFakeOpenAi()
      const client = (apiKey: string) => new OpenAI({ apiKey, baseURL: standIn.baseUrl, maxRetries: 0 })
      const messages = [{ role: "user" as const, content: "Hello" }]
      const whole = yield* Effect.promise(() =>
        client(standIn.apiKey).chat.completions.create({ model: "gpt-4o", messages })
      )
      assert.strictEqual(whole.choices[0]?.message.content, "You said: Hello")
      const streamed = yield* Effect.promise(async () => {
        let text = ""
        const stream = await client(standIn.apiKey).chat.completions.create({ model: "gpt-4o", messages, stream: true })
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

describe.each(modelProtocols)("the wire to $name", ({ model, name, makeFake: someStandIn }) => {
  it.scopedLive("takes the pieces as they come, with the vendor's count", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      standIn.respondWith({ type: "answer", pieces: ["Grüß ", "Gott, ", "日本 🚢"] })
      const chunks = yield* runChat(yield* connectProvider(name, standIn), model)
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

  it.scopedLive("uses a connection again", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      const provider = yield* connectProvider(name, standIn)
      for (const _ of [1, 2, 3, 4, 5, 6]) yield* runChat(provider, model)
      assert.lengthOf(standIn.received, 6)
      // The client may open a second one while the first is just about to be free.
      assert.isAtMost(standIn.connectionCount(), 2)
    })
  )

  it.scopedLive("does not wait for a connection to close after the last word", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      standIn.respondWith({ type: "answer", pieces: ["Hi"], staysOpen: true })
      // The other side never closes it.
      assert.strictEqual(joinText(yield* runChat(yield* connectProvider(name, standIn), model)), "Hi")
    })
  )

  it.scopedLive("says so when the vendor does not count", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      standIn.respondWith({ type: "answer", pieces: ["Hi"], withoutUsage: true })
      assert.deepStrictEqual((yield* runChat(yield* connectProvider(name, standIn), model)).at(-1), {
        type: "done",
        finishReason: "stop",
        usage: null
      })
    })
  )

  it.scopedLive("tells strangers nothing of our traces, and our traces nothing of the key", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
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
      yield* runChat(yield* connectProvider(name, standIn), model).pipe(
        Effect.withSpan("caller"),
        Effect.withTracer(tracer)
      )
      const [request] = standIn.received
      for (const header of ["traceparent", "b3", "tracestate"]) assert.notProperty(request?.headers, header)
      assert.include(JSON.stringify(request?.headers), standIn.apiKey)
      assert.notInclude(request?.path, standIn.apiKey)
      assert.isAbove(attributes.length, 5)
      assert.notInclude(JSON.stringify(attributes), standIn.apiKey)
    })
  )

  it.scopedLive("gives away no key, though the vendor quotes it", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      const apiKey = "sk-wrong-but-secret"
      const lines: Array<string> = []
      const logger = Logger.make(({ cause, message }) => void lines.push(JSON.stringify([message, cause])))
      const provider = yield* connectProvider(name, { baseUrl: standIn.baseUrl, apiKey })
      const failure = yield* Effect.flip(runChat(provider, model)).pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
        Effect.tap(provider.healthy)
      )
      assertMatches(failure, { kind: "unauthorized" })
      assert.notInclude(JSON.stringify([failure, failure.message, failure.stack, lines]), apiKey)
      standIn.respondWith({ type: "refuse", status: 500, error: { message: `debug: ${standIn.apiKey}` } })
      const quoted = yield* Effect.flip(runChat(yield* connectProvider(name, standIn), model))
      assert.include(quoted.reason, "debug: ")
      assert.notInclude(quoted.reason, standIn.apiKey)
    })
  )

  it.scopedLive("is not healthy with a key that is wrong, nor without a server", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      assert.isFalse(yield* (yield* connectProvider(name, { baseUrl: standIn.baseUrl, apiKey: "wrong" })).healthy)
      const nowhere = yield* connectProvider(name, { baseUrl: "http://127.0.0.1:9/v1" })
      assertMatches(yield* Effect.flip(runChat(nowhere, model)), { kind: "unreachable" })
      assert.isFalse(yield* nowhere.healthy)
    })
  )

  it.scopedLive("ends the vendor's work when nobody wants the answer any more", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      const provider = yield* connectProvider(name, standIn)
      for (const behaviour of [{ type: "hang" }, { type: "break-off", pieces: ["Hi"], by: "hanging" }] as const) {
        const before = standIn.abandonedRequests()
        standIn.respondWith(behaviour)
        const fiber = yield* Effect.fork(runChat(provider, model))
        yield* waitForCondition(() => standIn.received.length > before)
        yield* Fiber.interrupt(fiber)
        yield* waitForCondition(() => standIn.abandonedRequests() === before + 1)
      }
      standIn.respondWith({ type: "endless" })
      yield* Stream.runDrain(Stream.take(streamChat(provider, model, helloMessages, {}), 3))
      yield* waitForCondition(() => standIn.abandonedRequests() === 3)
    })
  )

  it.scopedLive("ends the vendor's work on what is no answer", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      standIn.respondWith({ type: "raw", contentType: "text/html", body: "<h1>Please wait</h1>", staysOpen: true })
      assertMatches(yield* Effect.flip(runChat(yield* connectProvider(name, standIn), model)), {
        kind: "nonsense"
      })
      yield* waitForCondition(() => standIn.abandonedRequests() === 1)
    })
  )

  it.scopedLive("takes no more than is read", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      const provider = yield* connectProvider(name, standIn)
      standIn.respondWith({ type: "endless" })
      const pull = yield* Stream.toPull(streamChat(provider, model, helloMessages, {}))
      yield* pull
      // As long as the buffers between here and there fill, it goes on; then it stands.
      let last = -1
      yield* Effect.suspend(() => {
        const stands = standIn.streamedBytes() === last
        last = standIn.streamedBytes()
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

describe("what a vendor is asked", () => {
  const messages: ReadonlyArray<ChatMessage> = [
    { role: "system", content: "Be brief" },
    { role: "user", content: "Hello" }
  ]
  const options = { temperature: 0.2, topP: 0.9, maxTokens: 50 }

  it.scopedLive("is in OpenAI's words", () =>
    Effect.gen(function* () {
      const standIn = yield* openAiWire.makeFake
      const provider = yield* connectProvider("openai", standIn)
      yield* Stream.runDrain(streamChat(provider, "openai/gpt-4o", messages, options))
      yield* Stream.runDrain(streamChat(provider, "openai/gpt-5", messages, options))
      const [request, reasoning] = standIn.received
      assert.deepStrictEqual(request?.body, {
        model: "gpt-4o",
        messages,
        stream: true,
        stream_options: { include_usage: true },
        temperature: 0.2,
        top_p: 0.9,
        max_tokens: 50
      })
      // The stand-in refuses, as OpenAI does, what this model does not take.
      assertMatches(reasoning?.body, { model: "gpt-5", max_completion_tokens: 50 })
    })
  )

  it.scopedLive("is in Anthropic's words", () =>
    Effect.gen(function* () {
      const standIn = yield* anthropicWire.makeFake
      const provider = yield* connectProvider("anthropic", standIn)
      const ask = (model: string) => Stream.runDrain(streamChat(provider, model, messages, options))
      // The stand-in refuses, as Anthropic does, what these models do not take.
      yield* Effect.forEach(["claude-opus-4-6", "claude-opus-4-7", "claude-sonnet-4"], (name) =>
        ask(`anthropic/${name}`)
      )
      yield* Stream.runDrain(streamChat(provider, "anthropic/claude-3-haiku", helloMessages, { temperature: 1.7 }))
      const [request, later, alias, old] = standIn.received
      assertMatches(request, {
        path: "/v1/messages",
        headers: { "x-api-key": standIn.apiKey, "anthropic-version": "2023-06-01" }
      })
      const body = { system: "Be brief", messages: [{ role: "user", content: "Hello" }], max_tokens: 50, stream: true }
      assert.deepStrictEqual(request?.body, { model: "claude-opus-4-6", temperature: 0.2, ...body })
      assert.deepStrictEqual(later?.body, { model: "claude-opus-4-7", ...body })
      assertMatches(alias?.body, { model: "claude-sonnet-4-0" })
      assertMatches(old?.body, { model: "claude-3-haiku-20240307", max_tokens: 4096, temperature: 1 })
    })
  )

  it.scopedLive("is in Google's words, with the key in a header alone", () =>
    Effect.gen(function* () {
      const standIn = yield* googleWire.makeFake
      const provider = yield* connectProvider("google", standIn)
      yield* Stream.runDrain(streamChat(provider, "google/gemini-2.5-pro", messages, options))
      yield* Effect.flip(runChat(provider, "google/../../elsewhere"))
      const [request, escaped] = standIn.received
      assertMatches(request, {
        path: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        headers: { "x-goog-api-key": standIn.apiKey }
      })
      assert.deepStrictEqual(request?.body, {
        systemInstruction: { parts: [{ text: "Be brief" }] },
        contents: [{ role: "user", parts: [{ text: "Hello" }] }],
        generationConfig: { temperature: 0.2, topP: 0.9, maxOutputTokens: 50 }
      })
      assert.strictEqual(escaped?.path, "/v1beta/models/..%2F..%2Felsewhere:streamGenerateContent?alt=sse")
    })
  )

  it.scopedLive.each([anthropicWire, googleWire])(
    "is a conversation by turns for $name",
    ({ model, name, makeFake: some }) =>
      Effect.gen(function* () {
        const standIn = yield* some
        const provider = yield* connectProvider(name, standIn)
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
        // Anthropic refuses blanks and an assistant's first or last word, Google the last; so do their stand-ins.
        for (const talk of talks) assertMatches((yield* runChat(provider, model, talk)).at(-1), { type: "done" })
      })
  )

  it.scopedLive("is answered by a server like OpenAI's that does not stream", () =>
    Effect.gen(function* () {
      const standIn = yield* openAiWire.makeFake
      const body = JSON.stringify({
        choices: [{ message: { role: "assistant", content: "All at once" } }],
        usage: null
      })
      standIn.respondWith({ type: "raw", contentType: "application/json", body })
      const chunks = yield* runChat(yield* connectProvider("openai", standIn), openAiWire.model)
      assert.strictEqual(joinText(chunks), "All at once")
      assert.deepStrictEqual(chunks.at(-1), { type: "done", finishReason: "stop", usage: null })
    })
  )
})

describe("a mock by others", () => {
  const versions = { anthropic: "/v1", google: "/v1beta" } as const
  it.scopedLive.each([["anthropic", anthropicWire.model] as const, ["google", googleWire.model] as const])(
    "speaks with the wire to %s",
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

describe("providers' lists of models", () => {
  it.scopedLive("tell what a key can run, as far as its price is known", () =>
    Effect.gen(function* () {
      const listed = Effect.fn(function* (wire: typeof openAiWire) {
        return yield* (yield* connectProvider(wire.name, yield* wire.makeFake)).models
      })
      const idsOf = (wire: typeof openAiWire) => Effect.map(listed(wire), (models) => models.map(({ id }) => id))
      assert.include(yield* idsOf(openAiWire), "openai/gpt-4o")
      assertMatches(yield* listed(groqWire), [
        { id: "groq/llama-3.3-70b-versatile", provider: "groq", inputCost: 0.59 }
      ])
      // Whatever the vendor writes behind a name.
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

  it.scopedLive("do not make an OpenRouter key healthy that is not", () =>
    Effect.gen(function* () {
      const standIn = yield* makeFakeOpenAi({ modelsArePublic: true, hasKeyPath: true })
      assert.isTrue(yield* (yield* connectProvider("openrouter", standIn)).healthy)
      const stranger = yield* connectProvider("openrouter", { baseUrl: standIn.baseUrl, apiKey: "sk-other" })
      assert.isFalse(yield* stranger.healthy)
    })
  )
})
