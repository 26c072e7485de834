import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { ChatMessage, ChatOptions, ToolCall, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Either, Schema, Stream } from "effect"
import OpenAI from "openai"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import type { FakeToolCall } from "../fakes/models/FakeModelVendor.ts"
import { aimockServer } from "../fakes/models/AimockServer.ts"
import {
  anthropicWire,
  connectProvider,
  streamChat,
  googleWire,
  openAiWire,
  type ModelWire,
  modelWires
} from "../fakes/models/ModelWires.ts"
import { assertMatches } from "../support/Matching.ts"

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

const asked: ReadonlyArray<ChatMessage> = [
  { role: "system", content: "Use your tools" },
  { role: "user", content: "What time is it, and what is 17*23?" }
]

const both: readonly [FakeToolCall, FakeToolCall] = [
  { id: "call_a", name: "current_time", arguments: "{}" },
  { id: "call_b", name: "calculate", arguments: '{"expression":"17*23"}' }
]

const callsIn = (chunks: ReadonlyArray<ModelEvent<ProviderEnding>>) =>
  chunks.flatMap((chunk) => (chunk.type === "tool-call" ? [chunk.call] : []))

const run = (
  provider: ModelProvider,
  model: string,
  messages: ReadonlyArray<ChatMessage>,
  options: ChatOptions = { tools }
) => Effect.map(Stream.runCollect(streamChat(provider, model, messages, options)), Chunk.toReadonlyArray)

/** Events of an answer before its end or failure. */
const collectUntilEnd = (provider: ModelProvider, model: string) =>
  Effect.gen(function* () {
    const chunks: Array<ModelEvent<ProviderEnding>> = []
    const ending = yield* Effect.either(
      Stream.runForEach(streamChat(provider, model, asked, { tools }), (chunk) =>
        Effect.sync(() => void chunks.push(chunk))
      )
    )
    return { chunks, failed: Either.isLeft(ending) }
  })

const Contents = Schema.decodeUnknownSync(
  Schema.Struct({ contents: Schema.Array(Schema.Struct({ parts: Schema.Array(Schema.Unknown) })) })
)

/** A round of tool calls and their results. */
const round = (calls: ReadonlyArray<ToolCall>, content = ""): ReadonlyArray<ChatMessage> => [
  { role: "assistant", content, toolCalls: calls },
  ...calls.map((call): ChatMessage => ({
    role: "tool",
    toolCallId: call.id,
    toolName: call.name,
    content: `result of ${call.name}`
  }))
]

describe.each(modelWires)("tools over the wire to $name", ({ model, name, makeFake }) => {
  it.scopedLive("are called whole and in order, and their results go back", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      const provider = yield* connectProvider(name, fake)
      fake.respondWith({ type: "answer", pieces: ["Let me ", "see. "], calls: both })
      const chunks = yield* run(provider, model, asked)
      assert.deepStrictEqual(callsIn(chunks), [
        { id: "call_a", name: "current_time", arguments: "{}" },
        { id: "call_b", name: "calculate", arguments: '{"expression":"17*23"}' }
      ])
      assert.deepStrictEqual(
        chunks.slice(-3).map(({ type }) => type),
        ["tool-call", "tool-call", "done"]
      )
      assertMatches(chunks.at(-1), { finishReason: "tool_calls", usage: { completionTokens: 2 } })

      const after = yield* run(provider, model, [...asked, ...round(callsIn(chunks), "Let me see.")])
      const text = after.map((chunk) => (chunk.type === "delta" ? chunk.text : "")).join("")
      assert.include(text, "result of calculate")
      assertMatches(after.at(-1), { type: "done", finishReason: "stop" })
    })
  )

  it.scopedLive("are not called when the answer is cut before its end", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      const provider = yield* connectProvider(name, fake)
      for (const by of ["cutting", "ending"] as const) {
        fake.respondWith({ type: "break-off", pieces: ["Let me see"], calls: both, by })
        const { chunks, failed } = yield* collectUntilEnd(provider, model)
        assert.isTrue(failed)
        assert.deepStrictEqual(callsIn(chunks), [])
        assert.isAbove(chunks.length, 0)
      }
    })
  )

  it.scopedLive("are called as far as they are whole when the answer is too long", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      fake.respondWith({ type: "answer", pieces: [], calls: both, ending: "length" })
      const chunks = yield* run(yield* connectProvider(name, fake), model, asked)
      assert.deepStrictEqual(
        callsIn(chunks).map(({ id }) => id),
        ["call_a"]
      )
      assertMatches(chunks.at(-1), { finishReason: "length" })
    })
  )

  it.scopedLive("may have been called in ways that no vendor takes", () =>
    Effect.gen(function* () {
      const fake = yield* makeFake
      const provider = yield* connectProvider(name, fake)
      const call = (id: string, tool = "calculate", text = "{}"): ToolCall => ({ id, name: tool, arguments: text })
      const result = (id: string, content = "42"): ChatMessage => ({
        role: "tool",
        toolCallId: id,
        toolName: "calculate",
        content
      })
      const [question] = asked
      const talks: ReadonlyArray<ReadonlyArray<ChatMessage>> = [
        // A result without its call, and a call without its result.
        [...asked, result("gone")],
        [...asked, { role: "assistant", content: "", toolCalls: [call("a"), call("b")] }, result("b")],
        [...asked, { role: "assistant", content: " ", toolCalls: [call("a")] }, { role: "user", content: "Well?" }],
        // The same id in two rounds and twice in one, a foreign one, and one that is too long.
        [...asked, ...round([call("a")]), ...round([call("a"), call("a")]), { role: "user", content: "Well?" }],
        [...asked, ...round([call("functions.calculate:0"), call("x".repeat(60)), call("")])],
        // A made-up name, and arguments that are no object.
        [
          ...asked,
          ...round([call("a", "no such tool!", "{not json"), call("b", "", "[1]"), call("c", "calculate", "")])
        ],
        [...asked, ...round([call("a")], "Hm"), { role: "assistant", content: "" }, result("a", " ")],
        ...(question === undefined ? [] : [[question, ...round([call("a")])]])
      ]
      for (const talk of talks) {
        assertMatches((yield* run(provider, model, talk)).at(-1), { type: "done" })
        // The last call of a turn has no tools.
        assertMatches((yield* run(provider, model, talk, {})).at(-1), { type: "done" })
      }
    })
  )
})

describe("A request with tools", () => {
  const calls: ReadonlyArray<ToolCall> = [{ id: "call_b", name: "calculate", arguments: '{"expression":"17*23"}' }]
  const talk: ReadonlyArray<ChatMessage> = [...asked, ...round(calls), { role: "user", content: "Go on" }]
  const bodyOf = (wire: ModelWire) =>
    Effect.gen(function* () {
      const fake = yield* wire.makeFake
      yield* run(yield* connectProvider(wire.name, fake), wire.model, talk)
      return fake.received.at(-1)?.body
    })
  const schema = { type: "object", properties: { expression: { type: "string" } }, additionalProperties: false }

  it.scopedLive("is in OpenAI's words", () =>
    Effect.gen(function* () {
      assertMatches(yield* bodyOf(openAiWire), {
        messages: [
          { role: "system" },
          { role: "user" },
          {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: "call_b", type: "function", function: { name: "calculate", arguments: '{"expression":"17*23"}' } }
            ]
          },
          { role: "tool", tool_call_id: "call_b", content: "result of calculate" },
          { role: "user", content: "Go on" }
        ],
        tools: [
          { type: "function", function: { name: "current_time", parameters: { type: "object", properties: {} } } },
          { type: "function", function: { name: "calculate", description: "Calculates", parameters: schema } }
        ]
      })
    })
  )

  it.scopedLive("is in Anthropic's words, results before the text of one turn", () =>
    Effect.gen(function* () {
      assertMatches(yield* bodyOf(anthropicWire), {
        messages: [
          { role: "user" },
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "call_b", name: "calculate", input: { expression: "17*23" } }]
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "call_b", content: "result of calculate" },
              { type: "text", text: "Go on" }
            ]
          }
        ],
        tools: [{ name: "current_time" }, { name: "calculate", description: "Calculates", input_schema: schema }]
      })
    })
  )

  it.scopedLive("is in Google's words", () =>
    Effect.gen(function* () {
      assertMatches(yield* bodyOf(googleWire), {
        contents: [
          { role: "user" },
          {
            role: "model",
            parts: [{ functionCall: { id: "call_b", name: "calculate", args: { expression: "17*23" } } }]
          },
          {
            role: "user",
            parts: [
              { functionResponse: { id: "call_b", name: "calculate", response: { result: "result of calculate" } } },
              { text: "Go on" }
            ]
          }
        ],
        tools: [
          { functionDeclarations: [{ name: "current_time" }, { name: "calculate", parametersJsonSchema: schema }] }
        ]
      })
    })
  )
})

describe("Signed tool calls", () => {
  const unnamed = both.map(({ arguments: text, name }) => ({ name, arguments: text }))

  it.scopedLive("go back to Gemini with their signatures, and another model's without", () =>
    Effect.gen(function* () {
      const model = "google/gemini-3.5-flash"
      const fake = yield* googleWire.makeFake
      const provider = yield* connectProvider("google", fake)
      fake.respondWith({
        type: "answer",
        pieces: [],
        calls: unnamed.map((call, index) => (index === 0 ? { ...call, signature: "gemini-3.5-flash-c2ln" } : call))
      })
      const calls = callsIn(yield* run(provider, model, asked))
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
      const talk = [...asked, ...round(calls)]
      const more = callsIn(yield* run(provider, model, talk))
      assert.deepStrictEqual(
        more.map(({ id }) => id),
        ["call_3", "call_4"]
      )
      const partOf = (nth: number) => {
        const body: unknown = fake.received.at(-1)?.body
        return Contents(body).contents[nth]?.parts[0]
      }
      assertMatches(partOf(1), { thoughtSignature: "gemini-3.5-flash-c2ln" })
      // Like Google, the fake rejects calls without a signature or with another model's.
      assertMatches((yield* run(provider, "google/gemini-3.1-pro-preview", [...talk, ...round(more)])).at(-1), {
        type: "done"
      })
      assertMatches(partOf(1), { thoughtSignature: "skip_thought_signature_validator" })
      yield* run(provider, "google/gemini-2.5-pro", talk)
      assert.notProperty(partOf(1), "thoughtSignature")
    })
  )

  it.scopedLive("go back to OpenRouter with what Gemini thought before them", () =>
    Effect.gen(function* () {
      const model = "google/gemini-3.5-flash"
      const fake = yield* makeFakeOpenAi({
        models: [{ id: model }],
        wantsReasoning: (id) => id.startsWith("google/gemini-3")
      })
      const provider = yield* connectProvider("openrouter", fake)
      fake.respondWith({ type: "answer", pieces: [], calls: [{ ...both[0], signature: "b3BhcXVl" }, both[1]] })
      const calls = callsIn(yield* run(provider, model, asked))
      yield* run(provider, model, [...asked, ...round(calls)])
      assertMatches(fake.received.at(-1)?.body, {
        messages: [
          {},
          {},
          { reasoning_details: [{ type: "reasoning.encrypted", data: "b3BhcXVl", id: "call_a" }] },
          {},
          {}
        ]
      })
      // A round of another provider's model.
      const foreign = calls.map(({ signature: _, ...call }) => call)
      assertMatches((yield* run(provider, model, [...asked, ...round(foreign)])).at(-1), { type: "done" })
    })
  )
})

describe("The fakes", () => {
  const post = (url: string, headers: Record<string, string>, body: unknown) =>
    Effect.promise(async () => {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body)
      })
      return { status: response.status, text: await response.text() }
    })

  it.scopedLive("are compatible with OpenAI's client, including tools", () =>
    Effect.gen(function* () {
      const fake = yield* openAiWire.makeFake
      fake.respondWith({ type: "answer", pieces: [], calls: both })
      const client = new OpenAI({ apiKey: fake.apiKey, baseURL: fake.baseUrl, maxRetries: 0 })
      const message = yield* Effect.promise(() =>
        client.chat.completions
          .stream({
            model: "gpt-4o",
            messages: [{ role: "user", content: "17*23?" }],
            tools: [{ type: "function", function: { name: "calculate", parameters: { type: "object" } } }]
          })
          .finalMessage()
      )
      assertMatches(
        message.tool_calls?.map((call) => call.type === "function" && call.function),
        [
          { name: "current_time", arguments: "{}" },
          { name: "calculate", arguments: '{"expression":"17*23"}' }
        ]
      )
    })
  )

  it.scopedLive("reject the tool requests that the vendors reject", () =>
    Effect.gen(function* () {
      const refused = (
        wire: ModelWire,
        path: string,
        headers: (key: string) => Record<string, string>,
        bodies: ReadonlyArray<readonly [string, object]>
      ) =>
        Effect.gen(function* () {
          const { apiKey, baseUrl } = yield* wire.makeFake
          for (const [words, body] of bodies) {
            const { status, text } = yield* post(`${baseUrl}${path}`, headers(apiKey), body)
            assert.strictEqual(status, 400, words)
            assert.include(text, words)
          }
        })
      const user = { role: "user", content: "Hi" }
      const called = (id: unknown) => ({
        role: "assistant",
        content: null,
        tool_calls: [{ id, type: "function", function: { name: "calculate", arguments: "{}" } }]
      })
      const openAi = (messages: ReadonlyArray<object>, more: object = {}) => ({ model: "gpt-4o", messages, ...more })
      yield* refused(openAiWire, "/chat/completions", (key) => ({ authorization: `Bearer ${key}` }), [
        ["must be a response to", openAi([user, { role: "tool", tool_call_id: "a", content: "42" }])],
        ["did not have response messages: a", openAi([user, called("a"), user])],
        ["Invalid 'messages'", openAi([user, called(undefined)])],
        [
          "does not match pattern",
          openAi([user], { tools: [{ type: "function", function: { name: "a b", parameters: { type: "object" } } }] })
        ]
      ])
      const use = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "calculate", input: {} }] }
      const gave = (id: string, ...more: ReadonlyArray<object>) => ({
        role: "user",
        content: [...more, { type: "tool_result", tool_use_id: id, content: "42" }]
      })
      const tool = { name: "calculate", input_schema: { type: "object" } }
      const anthropic = (messages: ReadonlyArray<object>, offered: object = tool) => ({
        model: "claude-opus-4-6",
        max_tokens: 9,
        messages,
        tools: [offered]
      })
      const anthropicHeaders = (key: string) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" })
      yield* refused(anthropicWire, "/messages", anthropicHeaders, [
        ["unexpected `tool_use_id`", anthropic([gave("a")])],
        ["without `tool_result` blocks immediately after: a", anthropic([user, use, user])],
        ["without `tool_result` blocks", anthropic([user, use, gave("a", { type: "text", text: "First" })])],
        ["must be unique", anthropic([user, use, gave("a"), use, gave("a")])],
        ["should match pattern", anthropic([user], { ...tool, name: "a b" })],
        ["input_schema", anthropic([user], { name: "calculate", input_schema: {} })],
        ["must define tools", { ...anthropic([user, use, gave("a")]), tools: undefined }]
      ])
      const said = { role: "user", parts: [{ text: "Hi" }] }
      const functionCall = { role: "model", parts: [{ functionCall: { name: "calculate", args: {} } }] }
      const functionResponse = {
        role: "user",
        parts: [{ functionResponse: { name: "calculate", response: { result: "42" } } }]
      }
      yield* refused(
        googleWire,
        "/models/gemini-3.5-flash:generateContent",
        (key): Record<string, string> => ({ "x-goog-api-key": key }),
        [
          ["immediately after a function call turn", { contents: [functionResponse] }],
          ["missing a thought_signature", { contents: [said, functionCall, functionResponse] }],
          [
            "Invalid function name",
            { contents: [said], tools: [{ functionDeclarations: [{ name: "1+1", description: "" }] }] }
          ]
        ]
      )
      yield* refused(
        googleWire,
        "/models/gemini-2.5-pro:generateContent",
        (key): Record<string, string> => ({ "x-goog-api-key": key }),
        [
          ["number of function response parts", { contents: [said, functionCall, said] }],
          ["immediately after a user turn", { contents: [functionCall, functionResponse] }]
        ]
      )
    })
  )
})

describe("An independent mock server", () => {
  const versions = { openai: "/v1", anthropic: "/v1", google: "/v1beta" } as const

  it.scopedLive.each([
    ["openai", openAiWire.model] as const,
    ["anthropic", anthropicWire.model] as const,
    ["google", googleWire.model] as const
  ])("calls tools over the wire to %s", ([name, model]) =>
    Effect.gen(function* () {
      const server = yield* aimockServer
      server.onMessage(/17/, {
        toolCalls: [
          { name: "current_time", arguments: "{}" },
          { name: "calculate", arguments: '{"expression":"17*23"}' }
        ]
      })
      const provider = yield* connectProvider(name, { baseUrl: `${server.url}${versions[name]}` })
      const chunks = yield* run(provider, model, asked)
      const calls = callsIn(chunks)
      assertMatches(calls, [
        { name: "current_time", arguments: "{}" },
        { name: "calculate", arguments: '{"expression":"17*23"}' }
      ])
      assert.strictEqual(new Set(calls.map(({ id }) => id)).size, 2)
      assertMatches(chunks.at(-1), { finishReason: "tool_calls" })
    })
  )
})
