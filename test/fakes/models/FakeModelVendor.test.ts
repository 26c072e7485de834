import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI from "openai"
import { assertMatches } from "../../support/Matching.ts"
import { anthropicWire, googleWire, type ModelWire, openAiWire } from "./ModelWires.ts"

const messages = [{ role: "user" as const, content: "Hello" }]

const openAiClient = (baseURL: string, apiKey: string) => new OpenAI({ apiKey, baseURL, maxRetries: 0 })

describe("FakeOpenAi", () => {
  it.scopedLive("FakeOpenAi is compatible with OpenAI's client", () =>
    Effect.gen(function* () {
      const fake = yield* openAiWire.makeFake
      const client = openAiClient(fake.baseUrl, fake.apiKey)
      const whole = yield* Effect.promise(() => client.chat.completions.create({ model: "gpt-4o", messages }))
      assert.strictEqual(whole.choices[0]?.message.content, "You said: Hello")
      const streamed = yield* Effect.promise(async () => {
        let text = ""
        const stream = await client.chat.completions.create({ model: "gpt-4o", messages, stream: true })
        for await (const { choices } of stream) text += choices[0]?.delta.content ?? ""
        return text
      })
      assert.strictEqual(streamed, "You said: Hello")
      const stranger = openAiClient(fake.baseUrl, "sk-wrong")
      const refused = yield* Effect.flip(
        Effect.tryPromise(() => stranger.chat.completions.create({ model: "gpt-4o", messages }))
      )
      assert.instanceOf(refused.error, OpenAI.AuthenticationError)
    })
  )

  it.scopedLive("FakeOpenAi calls tools as OpenAI's client expects", () =>
    Effect.gen(function* () {
      const fake = yield* openAiWire.makeFake
      const calls = [
        { name: "current_time", arguments: "{}" },
        { name: "calculate", arguments: '{"expression":"17*23"}' }
      ]
      fake.respondWith({ type: "answer", pieces: [], calls })
      const message = yield* Effect.promise(() =>
        openAiClient(fake.baseUrl, fake.apiKey)
          .chat.completions.stream({
            model: "gpt-4o",
            messages,
            tools: [{ type: "function", function: { name: "calculate", parameters: { type: "object" } } }]
          })
          .finalMessage()
      )
      assertMatches(
        message.tool_calls?.map((call) => call.type === "function" && call.function),
        calls
      )
    })
  )
})

const user = { role: "user", content: "Hi" }
const openAiCall = (id: unknown) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "calculate", arguments: "{}" } }]
})
const openAi = (chat: ReadonlyArray<object>, more: object = {}) => ({ model: "gpt-4o", messages: chat, ...more })

const use = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "calculate", input: {} }] }
const gave = (id: string, ...more: ReadonlyArray<object>) => ({
  role: "user",
  content: [...more, { type: "tool_result", tool_use_id: id, content: "42" }]
})
const tool = { name: "calculate", input_schema: { type: "object" } }
const anthropic = (chat: ReadonlyArray<object>, offered: object = tool) => ({
  model: "claude-opus-4-6",
  max_tokens: 9,
  messages: chat,
  tools: [offered]
})

const message = { role: "user", parts: [{ text: "Hi" }] }
const functionCall = { role: "model", parts: [{ functionCall: { name: "calculate", args: {} } }] }
const functionResponse = {
  role: "user",
  parts: [{ functionResponse: { name: "calculate", response: { result: "42" } } }]
}
const badName = { functionDeclarations: [{ name: "1+1", description: "" }] }

/** Requests that a vendor rejects with 400 and a message. */
const rejections: ReadonlyArray<
  readonly [wire: ModelWire, path: string, rows: ReadonlyArray<readonly [message: string, body: object]>]
> = [
  [
    openAiWire,
    "/chat/completions",
    [
      ["must be a response to", openAi([user, { role: "tool", tool_call_id: "a", content: "42" }])],
      ["did not have response messages: a", openAi([user, openAiCall("a"), user])],
      ["Invalid 'messages'", openAi([user, openAiCall(undefined)])],
      [
        "does not match pattern",
        openAi([user], { tools: [{ type: "function", function: { name: "a b", parameters: { type: "object" } } }] })
      ]
    ]
  ],
  [
    anthropicWire,
    "/messages",
    [
      ["unexpected `tool_use_id`", anthropic([gave("a")])],
      ["without `tool_result` blocks immediately after: a", anthropic([user, use, user])],
      ["without `tool_result` blocks", anthropic([user, use, gave("a", { type: "text", text: "First" })])],
      ["must be unique", anthropic([user, use, gave("a"), use, gave("a")])],
      ["should match pattern", anthropic([user], { ...tool, name: "a b" })],
      ["input_schema", anthropic([user], { name: "calculate", input_schema: {} })],
      ["must define tools", { ...anthropic([user, use, gave("a")]), tools: undefined }]
    ]
  ],
  [
    googleWire,
    "/models/gemini-3.5-flash:generateContent",
    [
      ["immediately after a function call turn", { contents: [functionResponse] }],
      ["missing a thought_signature", { contents: [message, functionCall, functionResponse] }],
      ["Invalid function name", { contents: [message], tools: [badName] }]
    ]
  ],
  [
    googleWire,
    "/models/gemini-2.5-pro:generateContent",
    [
      ["number of function response parts", { contents: [message, functionCall, message] }],
      ["immediately after a user turn", { contents: [functionCall, functionResponse] }]
    ]
  ]
]

describe("FakeModelVendor", () => {
  for (const [wire, path, rows] of rejections)
    it.scopedLive(`The fake of ${wire.name} rejects the tool requests that the vendor rejects at ${path}`, () =>
      Effect.gen(function* () {
        const { apiKey, baseUrl } = yield* wire.makeFake
        for (const [message, body] of rows) {
          const response = yield* Effect.promise(() =>
            fetch(`${baseUrl}${path}`, {
              method: "POST",
              headers: { "content-type": "application/json", ...wire.shape.keyHeaders(apiKey) },
              body: JSON.stringify(body)
            })
          )
          assert.strictEqual(response.status, 400, message)
          assert.include(yield* Effect.promise(() => response.text()), message)
        }
      })
    )
})
