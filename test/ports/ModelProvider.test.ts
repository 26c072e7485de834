import type { ChatMessage, ChatOptions, ToolCall, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import { sandboxModel, sandboxModelProvider } from "@berth/infra/ai/sandbox/SandboxModelProvider"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Fiber, Schedule, Schema, type Scope, Stream } from "effect"
import type { YieldWrap } from "effect/Utils"
import { aimockServer } from "../fakes/models/AimockServer.ts"
import type { FakeModelVendor, FakeToolCall } from "../fakes/models/FakeModelVendor.ts"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import {
  anthropicWire,
  connectProvider,
  googleWire,
  groqWire,
  helloMessages,
  joinText,
  type ModelWire,
  modelProtocols,
  modelWires,
  openAiWire,
  runChat,
  streamChat,
  waitForCondition
} from "../fakes/models/ModelWires.ts"
import { assertMatches } from "../support/Matching.ts"
import { recordLogs, recordSpans } from "../support/RecordedTelemetry.ts"

interface Subject {
  readonly provider: ModelProvider
  readonly model: string
}

interface WireSubject extends Subject {
  readonly wire: ModelWire
  readonly fake: FakeModelVendor
  readonly chat: (messages?: ReadonlyArray<ChatMessage>, options?: ChatOptions) => ReturnType<typeof runChat>
}

/** Tests by the rest of their titles. */
type Cases<S> = Readonly<
  Record<string, (subject: S) => Generator<YieldWrap<Effect.Effect<unknown, unknown, Scope.Scope>>, void, never>>
>

const connectWire = (wire: ModelWire): Effect.Effect<WireSubject, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fake = yield* wire.makeFake
    const provider = connectProvider(wire.name, fake)
    const chat: WireSubject["chat"] = (messages, options) => runChat(provider, wire.model, messages, options)
    return { wire, model: wire.model, fake, provider, chat }
  })

const runCases = <S>(name: string, connect: Effect.Effect<S, never, Scope.Scope>, cases: Cases<S>) => {
  for (const [title, run] of Object.entries(cases))
    it.scopedLive(`The ${name} provider ${title}`, () =>
      Effect.flatMap(connect, (subject) => Effect.gen(() => run(subject)))
    )
}

const mockVersions = { openai: "/v1", anthropic: "/v1", google: "/v1beta" } as const
const mockWires = [
  ["openai", openAiWire.model],
  ["anthropic", anthropicWire.model],
  ["google", googleWire.model]
] as const

const connectMock = ([name, model]: (typeof mockWires)[number]) =>
  Effect.gen(function* () {
    const server = yield* aimockServer
    const provider = connectProvider(name, { baseUrl: `${server.url}${mockVersions[name]}` })
    return { server, provider, model }
  })

const tools: ReadonlyArray<ToolSpec> = [
  {
    name: "current_time",
    description: "Tells the time",
    parameters: { $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties: {}, required: [] }
  },
  {
    name: "calculate",
    description: "Calculates",
    parameters: { type: "object", properties: { expression: { type: "string" } }, additionalProperties: false }
  }
]

const toolQuestion: ReadonlyArray<ChatMessage> = [
  { role: "system", content: "Use your tools" },
  { role: "user", content: "What time is it, and what is 17*23?" }
]

const twoCalls: readonly [FakeToolCall, FakeToolCall] = [
  { id: "call_a", name: "current_time", arguments: "{}" },
  { id: "call_b", name: "calculate", arguments: '{"expression":"17*23"}' }
]

/** The last event without the vendor's ids of the answer and its model. */
const endOf = (chunks: ReadonlyArray<ModelEvent<ProviderEnding>>) => {
  const last = chunks.at(-1)
  if (last?.type !== "done") return last
  const { responseId: _, responseModel: __, ...end } = last
  return end
}

const callsIn = (chunks: ReadonlyArray<ModelEvent<ProviderEnding>>) =>
  chunks.flatMap((chunk) => (chunk.type === "tool-call" ? [chunk.call] : []))

/** A round of tool calls and their results. */
const round = (calls: ReadonlyArray<ToolCall>, content = ""): ReadonlyArray<ChatMessage> => [
  { role: "assistant", content, toolCalls: calls },
  ...calls.map(({ id, name }): ChatMessage => ({
    role: "tool",
    toolCallId: id,
    toolName: name,
    content: `result of ${name}`
  }))
]

/** Conversations with tools that every vendor rejects unless they are repaired. */
const strangeToolTalks = (): ReadonlyArray<ReadonlyArray<ChatMessage>> => {
  const call = (id: string, tool = "calculate", text = "{}"): ToolCall => ({ id, name: tool, arguments: text })
  const result = (id: string, content = "42"): ChatMessage => ({
    role: "tool",
    toolCallId: id,
    toolName: "calculate",
    content
  })
  const well: ChatMessage = { role: "user", content: "Well?" }
  return [
    // A result without its call, and a call without its result.
    [...toolQuestion, result("gone")],
    [...toolQuestion, { role: "assistant", content: "", toolCalls: [call("a"), call("b")] }, result("b")],
    [...toolQuestion, { role: "assistant", content: " ", toolCalls: [call("a")] }, well],
    // The same id in two rounds and twice in one, a foreign one, and one that is too long.
    [...toolQuestion, ...round([call("a")]), ...round([call("a"), call("a")]), well],
    [...toolQuestion, ...round([call("functions.calculate:0"), call("x".repeat(60)), call("")])],
    // An invalid name, and arguments that are not an object.
    [
      ...toolQuestion,
      ...round([call("a", "no such tool!", "{not json"), call("b", "", "[1]"), call("c", "calculate", "")])
    ],
    [...toolQuestion, ...round([call("a")], "Hm"), { role: "assistant", content: "" }, result("a", " ")],
    [...toolQuestion.slice(0, 1), ...round([call("a")])]
  ]
}

/** Cases of every provider, including those without a fake vendor. */
const portCases: Cases<Subject> = {
  *"answers in deltas and ends with its usage"({ model, provider }) {
    const chunks = yield* runChat(provider, model)
    assert.include(joinText(chunks), "Hello")
    assert.isTrue(chunks.slice(0, -1).every(({ type }) => type === "delta"))
    const last = chunks.at(-1)
    assertMatches(last, { type: "done", finishReason: "stop" })
    if (last?.type !== "done" || last.usage === null) return assert.fail("the answer has no usage")
    assert.strictEqual(last.usage.totalTokens, last.usage.promptTokens + last.usage.completionTokens)
    assert.isAbove(last.usage.promptTokens, 0)
  },
  *"is healthy"({ provider }) {
    assert.isTrue(yield* provider.healthy)
  },
  *"refuses a model that it does not have"({ provider }) {
    const failure = yield* Effect.flip(runChat(provider, "acme/none"))
    assertMatches(failure, { _tag: "ProviderFailed", provider: provider.name, kind: "refused" })
  },
  *"ends its answer when the consumer leaves after the first event"({ model, provider }) {
    const first = yield* Stream.runHead(streamChat(provider, model, helloMessages, {}))
    assert.strictEqual(first._tag, "Some")
  }
}

const toolCases: Cases<WireSubject> = {
  *"returns tool calls whole and in order, and takes their results"({ chat, fake }) {
    fake.respondWith({ type: "answer", pieces: ["Let me ", "see. "], calls: twoCalls })
    const chunks = yield* chat(toolQuestion, { tools })
    assert.deepStrictEqual(callsIn(chunks), [
      { id: "call_a", name: "current_time", arguments: "{}" },
      { id: "call_b", name: "calculate", arguments: '{"expression":"17*23"}' }
    ])
    assert.deepStrictEqual(
      chunks.slice(-3).map(({ type }) => type),
      ["tool-call", "tool-call", "done"]
    )
    assertMatches(chunks.at(-1), { finishReason: "tool_calls", usage: { completionTokens: 2 } })
    const after = yield* chat([...toolQuestion, ...round(callsIn(chunks), "Let me see.")], { tools })
    assert.include(joinText(after), "result of calculate")
    assertMatches(after.at(-1), { type: "done", finishReason: "stop" })
  },
  *"returns no tool call of an answer that is cut before its end"({ fake, model, provider }) {
    for (const by of ["cutting", "ending"] as const) {
      fake.respondWith({ type: "break-off", pieces: ["Let me see"], calls: twoCalls, by })
      const chunks: Array<ModelEvent<ProviderEnding>> = []
      const ending = yield* streamChat(provider, model, toolQuestion, { tools }).pipe(
        Stream.runForEach((chunk) => Effect.sync(() => void chunks.push(chunk))),
        Effect.either
      )
      assert.isTrue(Either.isLeft(ending))
      assert.deepStrictEqual(callsIn(chunks), [])
      assert.isAbove(chunks.length, 0)
    }
  },
  *"returns only the complete tool calls of an answer that is too long"({ chat, fake }) {
    fake.respondWith({ type: "answer", pieces: [], calls: twoCalls, ending: "length" })
    const chunks = yield* chat(toolQuestion, { tools })
    assert.deepStrictEqual(
      callsIn(chunks).map(({ id }) => id),
      ["call_a"]
    )
    assertMatches(chunks.at(-1), { finishReason: "length" })
  },
  *"repairs conversations with tools that no vendor accepts"({ chat }) {
    for (const talk of strangeToolTalks()) {
      assertMatches((yield* chat(talk, { tools })).at(-1), { type: "done" })
      // The last call of a turn has no tools.
      assertMatches((yield* chat(talk)).at(-1), { type: "done" })
    }
  }
}

const protocolCases: Cases<WireSubject> = {
  *"passes deltas on as they arrive, with the vendor's usage"({ chat, fake }) {
    const pieces = ["Grüß ", "Gott, ", "日本 🚢"]
    fake.respondWith({ type: "answer", pieces })
    const chunks = yield* chat()
    assert.deepStrictEqual(
      chunks.filter((chunk) => chunk.type === "delta" && chunk.text !== ""),
      pieces.map((text) => ({ type: "delta" as const, text }))
    )
    assert.deepStrictEqual(endOf(chunks), {
      type: "done",
      finishReason: "stop",
      usage: { promptTokens: 7, completionTokens: 3, totalTokens: 10 }
    })
  },
  *"passes on the vendor's names of the answer and its model"({ chat, model, provider }) {
    const vendorModel = model.slice(model.indexOf("/") + 1)
    const names = {
      openai: { responseId: "chatcmpl-1", responseModel: vendorModel },
      openrouter: { responseId: "chatcmpl-1" },
      groq: { responseId: "chatcmpl-1", responseModel: vendorModel },
      anthropic: { responseId: "msg_1", responseModel: vendorModel },
      google: { responseModel: "fake" },
      sandbox: {}
    }
    assert.containSubset((yield* chat()).at(-1), { type: "done", ...names[provider.name] })
  },
  *"reuses connections"({ chat, fake }) {
    for (const _ of [1, 2, 3, 4, 5, 6]) yield* chat()
    assert.lengthOf(fake.received, 6)
    // The client may open a second connection just before the first is free.
    assert.isAtMost(fake.connectionCount(), 2)
  },
  *"ends its answer at the last event although the connection stays open"({ chat, fake }) {
    fake.respondWith({ type: "answer", pieces: ["Hi"], staysOpen: true })
    assert.strictEqual(joinText(yield* chat()), "Hi")
  },
  *"reports missing usage"({ chat, fake }) {
    fake.respondWith({ type: "answer", pieces: ["Hi"], withoutUsage: true })
    assert.deepStrictEqual(endOf(yield* chat()), { type: "done", finishReason: "stop", usage: null })
  },
  *"sends no trace headers to the vendor and writes no key to traces"({ chat, fake }) {
    const { layer, spans } = recordSpans()
    yield* chat().pipe(Effect.withSpan("caller"), Effect.provide(layer))
    const [request] = fake.received
    for (const header of ["traceparent", "b3", "tracestate"]) assert.notProperty(request?.headers, header)
    assert.include(JSON.stringify(request?.headers), fake.apiKey)
    assert.notInclude(request?.path, fake.apiKey)
    const attributes = spans.flatMap((span) => [...span])
    assert.isAbove(attributes.length, 5)
    assert.notInclude(JSON.stringify(attributes), fake.apiKey)
  },
  *"redacts a key that the vendor quotes"({ chat, fake, model, wire }) {
    const apiKey = "sk-wrong-but-secret"
    const { layer, lines } = recordLogs()
    const wrong = connectProvider(wire.name, { baseUrl: fake.baseUrl, apiKey })
    const failure = yield* Effect.flip(runChat(wrong, model)).pipe(Effect.tap(wrong.healthy), Effect.provide(layer))
    assertMatches(failure, { kind: "unauthorized" })
    assert.notInclude(JSON.stringify([failure, failure.message, failure.stack, lines]), apiKey)
    fake.respondWith({ type: "refuse", status: 500, error: { message: `debug: ${fake.apiKey}` } })
    const quoted = yield* Effect.flip(chat())
    assert.include(quoted.reason, "debug: ")
    assert.notInclude(quoted.reason, fake.apiKey)
  },
  *"is unhealthy with a wrong key and without a server"({ fake, model, wire }) {
    const wrong = connectProvider(wire.name, { baseUrl: fake.baseUrl, apiKey: "wrong" })
    assert.isFalse(yield* wrong.healthy)
    const nowhere = connectProvider(wire.name, { baseUrl: "http://127.0.0.1:9/v1" })
    assertMatches(yield* Effect.flip(runChat(nowhere, model)), { kind: "unreachable" })
    assert.isFalse(yield* nowhere.healthy)
  },
  *"closes the vendor's response when the answer is interrupted"({ chat, fake, model, provider }) {
    for (const behavior of [{ type: "hang" }, { type: "break-off", pieces: ["Hi"], by: "hanging" }] as const) {
      const before = fake.abandonedRequests()
      fake.respondWith(behavior)
      const fiber = yield* Effect.fork(chat())
      yield* waitForCondition(() => fake.received.length > before)
      yield* Fiber.interrupt(fiber)
      yield* waitForCondition(() => fake.abandonedRequests() === before + 1)
    }
    fake.respondWith({ type: "endless" })
    yield* Stream.runDrain(Stream.take(streamChat(provider, model, helloMessages, {}), 3))
    yield* waitForCondition(() => fake.abandonedRequests() === 3)
  },
  *"closes a response that is no answer"({ chat, fake }) {
    fake.respondWith({ type: "raw", contentType: "text/html", body: "<h1>Please wait</h1>", staysOpen: true })
    assertMatches(yield* Effect.flip(chat()), { kind: "nonsense" })
    yield* waitForCondition(() => fake.abandonedRequests() === 1)
  },
  *"reads no more than its consumer (back-pressure)"({ fake, model, provider }) {
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
  },
  *"accepts conversations whose turns do not alternate"({ chat }) {
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
    // Anthropic rejects blank messages and an assistant's first or last message, Google the last one, as do the fakes.
    for (const talk of talks) assertMatches((yield* chat(talk)).at(-1), { type: "done" })
  },
  *"sends tools, calls and results in the vendor's format"({ chat, fake, wire }) {
    const call = { id: "call_b", name: "calculate", arguments: '{"expression":"17*23"}' }
    yield* chat([...toolQuestion, ...round([call]), { role: "user", content: "Go on" }], { tools })
    assertMatches(fake.received.at(-1)?.body, wire.shape.toolRequest)
  }
}

const failureCases = ({ failures }: ModelWire["shape"]): Cases<WireSubject> =>
  Object.fromEntries(
    failures.map(({ behavior, fault, kind, retryAfter }) => [
      `reports ${fault} as ${kind}`,
      function* ({ chat, fake, wire }) {
        fake.respondWith(behavior)
        const failure = yield* Effect.flip(chat())
        assertMatches(failure, { _tag: "ProviderFailed", provider: wire.name, kind })
        if (retryAfter !== undefined) assert.deepStrictEqual(failure.retryAfter, retryAfter)
        assert.notInclude(failure.reason, "<")
        assert.lengthOf(fake.received, 1)
      }
    ])
  )

describe("ModelProvider", () => {
  runCases("sandbox", Effect.succeed({ provider: sandboxModelProvider, model: sandboxModel.id }), portCases)
  for (const wire of modelWires) runCases(wire.name, connectWire(wire), { ...portCases, ...toolCases })
  for (const wire of modelProtocols)
    runCases(wire.name, connectWire(wire), { ...protocolCases, ...failureCases(wire.shape) })
})

type MockSubject = Effect.Effect.Success<ReturnType<typeof connectMock>>

const mockCases: Cases<MockSubject> = {
  *"reads answers and errors of an independent mock server"({ model, provider, server }) {
    const content = "Hi from the mock, in more than one piece"
    const usage = { input_tokens: 9, output_tokens: 4, prompt_tokens: 9, completion_tokens: 4 }
    server.onMessage("Hello", { content, usage }, { chunkSize: 5 })
    const chunks = yield* runChat(provider, model)
    assert.strictEqual(joinText(chunks), content)
    assert.isAbove(chunks.length, 3)
    assert.deepStrictEqual(endOf(chunks), {
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
  },
  *"reads tool calls of an independent mock server"({ model, provider, server }) {
    const toolCalls = twoCalls.map(({ arguments: text, name }) => ({ name, arguments: text }))
    server.onMessage(/17/, { toolCalls })
    const chunks = yield* runChat(provider, model, toolQuestion, { tools })
    const calls = callsIn(chunks)
    assertMatches(calls, toolCalls)
    assert.strictEqual(new Set(calls.map(({ id }) => id)).size, 2)
    assertMatches(chunks.at(-1), { finishReason: "tool_calls" })
  }
}

describe("ModelProvider over an independent mock server", () => {
  for (const wire of mockWires) runCases(wire[0], connectMock(wire), mockCases)
  runCases(
    "openai (mock server)",
    Effect.tap(connectMock(mockWires[0]), ({ server }) =>
      Effect.sync(() => server.on({ model: "gpt-4o", userMessage: "Hello" }, { content: "Hello to you too" }))
    ),
    portCases
  )
})

const briefTalk: ReadonlyArray<ChatMessage> = [
  { role: "system", content: "Be brief" },
  { role: "user", content: "Hello" }
]
const sampling = { temperature: 0.2, topP: 0.9, maxTokens: 50 }
const openAiBody = { messages: briefTalk, stream: true, stream_options: { include_usage: true } }
const anthropicBody = { system: "Be brief", messages: helloMessages, max_tokens: 50, stream: true }

/** Requests of `briefTalk` with `sampling`. Like the vendors, the fakes reject options that a model does not support. */
const chatRequests: ReadonlyArray<readonly [wire: ModelWire, model: string, path: string, body: object]> = [
  [
    openAiWire,
    "openai/gpt-4o",
    "/v1/chat/completions",
    { model: "gpt-4o", ...openAiBody, temperature: 0.2, top_p: 0.9, max_tokens: 50 }
  ],
  [openAiWire, "openai/gpt-5", "/v1/chat/completions", { model: "gpt-5", ...openAiBody, max_completion_tokens: 50 }],
  [
    anthropicWire,
    "anthropic/claude-opus-4-6",
    "/v1/messages",
    { model: "claude-opus-4-6", temperature: 0.2, ...anthropicBody }
  ],
  [anthropicWire, "anthropic/claude-opus-4-7", "/v1/messages", { model: "claude-opus-4-7", ...anthropicBody }],
  [
    anthropicWire,
    "anthropic/claude-sonnet-4",
    "/v1/messages",
    { model: "claude-sonnet-4-0", temperature: 0.2, ...anthropicBody }
  ],
  [
    googleWire,
    "google/gemini-2.5-pro",
    "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    {
      systemInstruction: { parts: [{ text: "Be brief" }] },
      contents: [{ role: "user", parts: [{ text: "Hello" }] }],
      generationConfig: { temperature: 0.2, topP: 0.9, maxOutputTokens: 50 }
    }
  ]
]

const Contents = Schema.decodeUnknownSync(
  Schema.Struct({ contents: Schema.Array(Schema.Struct({ parts: Schema.Array(Schema.Unknown) })) })
)

describe("Requests and lists of ModelProvider", () => {
  for (const [wire, model, path, body] of chatRequests)
    it.scopedLive(`The ${wire.name} provider requests ${model} in the vendor's format`, () =>
      Effect.gen(function* () {
        const { fake, provider } = yield* connectWire(wire)
        yield* runChat(provider, model, briefTalk, sampling)
        const [request] = fake.received
        assertMatches(request, { path, headers: wire.shape.keyHeaders(fake.apiKey) })
        assert.deepStrictEqual(request?.body, body)
      })
    )

  it.scopedLive("The anthropic provider limits temperature and tokens to what an old model supports", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* connectWire(anthropicWire)
      yield* runChat(provider, "anthropic/claude-3-haiku", helloMessages, { temperature: 1.7 })
      assertMatches(fake.received[0]?.body, { model: "claude-3-haiku-20240307", max_tokens: 4096, temperature: 1 })
    })
  )

  it.scopedLive("The google provider escapes model ids in paths", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* connectWire(googleWire)
      yield* Effect.flip(runChat(provider, "google/../../elsewhere"))
      assert.strictEqual(fake.received[0]?.path, "/v1beta/models/..%2F..%2Felsewhere:streamGenerateContent?alt=sse")
    })
  )

  it.scopedLive("The openai provider accepts a complete answer of a compatible server that does not stream", () =>
    Effect.gen(function* () {
      const { chat, fake } = yield* connectWire(openAiWire)
      const message = { role: "assistant", content: "All at once" }
      const names = { id: "chatcmpl-2", model: "gpt-4o-2024-08-06" }
      const body = JSON.stringify({ ...names, choices: [{ message }], usage: null })
      fake.respondWith({ type: "raw", contentType: "application/json", body })
      const chunks = yield* chat()
      assert.strictEqual(joinText(chunks), "All at once")
      assert.deepStrictEqual(chunks.at(-1), {
        type: "done",
        finishReason: "stop",
        usage: null,
        responseId: names.id,
        responseModel: names.model
      })
    })
  )

  it.scopedLive("A provider lists the models of its key whose price is known", () =>
    Effect.gen(function* () {
      const listed = (wire: ModelWire) => Effect.flatMap(connectWire(wire), ({ provider }) => provider.models)
      const idsOf = (wire: ModelWire) => Effect.map(listed(wire), (models) => models.map(({ id }) => id))
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

  it.scopedLive("The openrouter provider is unhealthy with an invalid key although the model list is public", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeOpenAi({ modelsArePublic: true, hasKeyPath: true })
      assert.isTrue(yield* connectProvider("openrouter", fake).healthy)
      const stranger = connectProvider("openrouter", { baseUrl: fake.baseUrl, apiKey: "sk-other" })
      assert.isFalse(yield* stranger.healthy)
    })
  )
})

describe("Signed tool calls of ModelProvider", () => {
  it.scopedLive("The google provider sends Gemini its own signatures and no other model's", () =>
    Effect.gen(function* () {
      const model = "google/gemini-3.5-flash"
      const { fake, provider } = yield* connectWire(googleWire)
      const unnamed = twoCalls.map(({ arguments: text, name }) => ({ name, arguments: text }))
      fake.respondWith({
        type: "answer",
        pieces: [],
        calls: unnamed.map((call, index) => (index === 0 ? { ...call, signature: "gemini-3.5-flash-c2ln" } : call))
      })
      const calls = callsIn(yield* runChat(provider, model, toolQuestion, { tools }))
      // Google can omit call ids; their positions make them unique in a conversation.
      assert.deepStrictEqual(calls, [
        {
          id: "call_1",
          name: "current_time",
          arguments: "{}",
          signature: { provider: "google", model, data: "gemini-3.5-flash-c2ln" }
        },
        { id: "call_2", name: "calculate", arguments: '{"expression":"17*23"}' }
      ])
      fake.respondWith({ type: "answer", pieces: [], calls: unnamed })
      const talk = [...toolQuestion, ...round(calls)]
      const more = callsIn(yield* runChat(provider, model, talk, { tools }))
      assert.deepStrictEqual(
        more.map(({ id }) => id),
        ["call_3", "call_4"]
      )
      const firstPart = () => {
        const body: unknown = fake.received.at(-1)?.body
        return Contents(body).contents[1]?.parts[0]
      }
      assertMatches(firstPart(), { thoughtSignature: "gemini-3.5-flash-c2ln" })
      // Like Google, the fake rejects calls without a signature or with another model's.
      const other = yield* runChat(provider, "google/gemini-3.1-pro-preview", [...talk, ...round(more)], { tools })
      assertMatches(other.at(-1), { type: "done" })
      assertMatches(firstPart(), { thoughtSignature: "skip_thought_signature_validator" })
      yield* runChat(provider, "google/gemini-2.5-pro", talk, { tools })
      assert.notProperty(firstPart(), "thoughtSignature")
    })
  )

  it.scopedLive("The openrouter provider sends Gemini the reasoning of its calls", () =>
    Effect.gen(function* () {
      const model = "google/gemini-3.5-flash"
      const fake = yield* makeFakeOpenAi({
        models: [{ id: model }],
        wantsReasoning: (id) => id.startsWith("google/gemini-3")
      })
      const provider = connectProvider("openrouter", fake)
      const [first, second] = twoCalls
      fake.respondWith({ type: "answer", pieces: [], calls: [{ ...first, signature: "b3BhcXVl" }, second] })
      const calls = callsIn(yield* runChat(provider, model, toolQuestion, { tools }))
      yield* runChat(provider, model, [...toolQuestion, ...round(calls)], { tools })
      const reasoning = { type: "reasoning.encrypted", data: "b3BhcXVl", id: "call_a" }
      assertMatches(fake.received.at(-1)?.body, { messages: [{}, {}, { reasoning_details: [reasoning] }, {}, {}] })
      // A round of another provider's model.
      const foreign = calls.map(({ signature: _, ...call }) => call)
      const answer = yield* runChat(provider, model, [...toolQuestion, ...round(foreign)], { tools })
      assertMatches(answer.at(-1), { type: "done" })
    })
  )
})
