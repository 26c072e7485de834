import { ChatPayload } from "@berth/api/ai/AiApi"
import { OpenAiCompletionPayload } from "@berth/api/ai/OpenAiApi"
import { isPlainCall, isPlainChat, isPlainCompletion } from "@berth/api/ai/PayloadFastPath"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Schema } from "effect"

const readChat = Schema.decodeUnknownSync(ChatPayload)
const readCompletion = Schema.decodeUnknownSync(OpenAiCompletionPayload)

const odd = FastCheck.constantFrom<unknown>(null, "", 0, -1, 0.5, 2, 3, Number.NaN, 1e21, true, {}, [])

const turn = FastCheck.record(
  {
    role: FastCheck.constantFrom<unknown>("user", "assistant", "system", "developer", "tool", null),
    content: FastCheck.oneof(FastCheck.string(), odd),
    refusal: FastCheck.string()
  },
  { requiredKeys: ["role", "content"] }
)

const usualTurn = FastCheck.record({
  role: FastCheck.constantFrom("user", "assistant", "system"),
  content: FastCheck.string()
})

/** Bodies of which many are valid, and many almost valid. */
const body = FastCheck.record(
  {
    messages: FastCheck.oneof(
      { weight: 4, arbitrary: FastCheck.array(usualTurn, { minLength: 1, maxLength: 3 }) },
      { weight: 1, arbitrary: FastCheck.array(turn, { maxLength: 3 }) }
    ),
    model: FastCheck.oneof(FastCheck.constantFrom("openai/gpt-4o", "x".repeat(200), "x".repeat(201)), odd),
    stream: FastCheck.oneof(FastCheck.boolean(), odd),
    temperature: FastCheck.oneof(FastCheck.double(), odd),
    top_p: odd,
    max_tokens: odd,
    max_completion_tokens: odd,
    taskType: FastCheck.oneof(FastCheck.string(), odd),
    plugin: FastCheck.oneof(FastCheck.constant("generate-text"), odd),
    stop: FastCheck.string(),
    user: FastCheck.string()
  },
  { requiredKeys: ["messages"] }
)

describe("the usual bodies of model calls", () => {
  it.prop(
    "The fast path decodes the usual bodies of model calls as their schemas do",
    [body],
    ([payload]) => {
      if (isPlainChat(payload)) assert.deepStrictEqual(readChat(payload), payload)
      if (isPlainCompletion(payload)) assert.deepStrictEqual(readCompletion(payload), payload)
      const chat = Object.fromEntries(Object.entries(payload).filter(([name]) => name !== "plugin"))
      if (isPlainCall(payload)) assert.deepStrictEqual<unknown>(readChat(payload), chat)
    },
    { fastCheck: { numRuns: 1_000 } }
  )

  it("The fast path accepts the bodies that most clients send", () => {
    const messages = [
      { role: "system", content: "Be brief" },
      { role: "user", content: "Hello" }
    ]
    const payload = { model: "openai/gpt-4o-mini", messages, stream: true, temperature: 0.7, max_tokens: 100 }
    assert.isTrue(isPlainChat(payload))
    assert.isTrue(isPlainChat({ messages, taskType: "coding" }))
    assert.isTrue(isPlainCompletion(payload))
    assert.isTrue(isPlainCall({ ...payload, plugin: "generate-text" }))
  })

  it("The fast path rejects bodies with any other member", () => {
    const messages = [{ role: "user", content: "Hello" }]
    for (const more of [
      { stream: null },
      { tools: [] },
      { user: "me" },
      { toString: "x" },
      { temperature: 3 },
      { messages: [] },
      { messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }] },
      { messages: [{ role: "user", content: "Hello", name: "me" }] }
    ])
      assert.isFalse(isPlainCompletion({ model: "openai/gpt-4o", messages, ...more }))
    assert.isFalse(isPlainCompletion({ messages }))
    assert.isFalse(isPlainCall({ messages, plugin: null }))
    assert.isFalse(isPlainCompletion([]))
  })
})
