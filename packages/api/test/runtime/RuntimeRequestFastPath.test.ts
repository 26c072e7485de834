import { RuntimeModelRequest } from "@berth/api/runtime/RuntimeContract"
import { isPlainRuntimeRequest } from "@berth/api/runtime/RuntimeRequestFastPath"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Schema } from "effect"

const decode = Schema.decodeUnknownSync(RuntimeModelRequest)

const usual = {
  agentId: "agt_1",
  messageId: "msg_1",
  model: "openai/gpt-4o-mini",
  messages: [
    { role: "system", content: "Be brief" },
    { role: "user", content: "Hello" },
    { role: "assistant", content: "Hello!" }
  ],
  tools: [{ name: "calculate", description: "Calculates.", parameters: { type: "object", required: ["term"] } }],
  temperature: null,
  maxTokens: null,
  conversation: { id: "chs_1", agentName: "Ada" }
}

const odd = FastCheck.constantFrom<unknown>(null, undefined, "", 0, -1, 0.5, Number.NaN, 1e21, true, {}, [], [null])

/** Bodies of which some are valid, and many almost valid. */
const body = FastCheck.record(
  {
    agentId: FastCheck.oneof(FastCheck.string(), odd),
    messageId: FastCheck.oneof(FastCheck.string(), odd),
    model: FastCheck.oneof(FastCheck.string(), odd),
    messages: FastCheck.oneof(FastCheck.constant(usual.messages), odd),
    tools: FastCheck.oneof(
      {
        weight: 4,
        arbitrary: FastCheck.array(
          FastCheck.record(
            {
              name: FastCheck.constantFrom<unknown>("calculate", "two words", "x".repeat(65), "", 0),
              description: FastCheck.oneof(FastCheck.string(), odd),
              parameters: FastCheck.oneof(FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue()), odd)
            },
            { requiredKeys: [] }
          )
        )
      },
      { weight: 1, arbitrary: odd }
    ),
    temperature: FastCheck.oneof(FastCheck.double(), odd),
    maxTokens: FastCheck.oneof(FastCheck.integer(), odd),
    conversation: FastCheck.oneof(
      FastCheck.record({
        id: FastCheck.constantFrom("chs_1", "x".repeat(100), "x".repeat(101)),
        agentName: FastCheck.constantFrom("Ada", "x".repeat(1000), "x".repeat(1001))
      }),
      odd
    )
  },
  { requiredKeys: [] }
)

describe("the usual model call of a runtime", () => {
  it.prop(
    "The fast path takes only model calls of runtimes that their schema decodes to the same",
    [body],
    ([members]) => {
      for (const one of [members, { ...usual, ...members }])
        if (isPlainRuntimeRequest(one)) assert.deepStrictEqual<unknown>(decode(one), one)
    },
    { fastCheck: { numRuns: 1_000 } }
  )

  it("The fast path takes the model call of an agent, with and without tools", () => {
    const { conversation: _, ...ofOlderRuntime } = usual
    assert.isTrue(isPlainRuntimeRequest(usual))
    assert.isTrue(isPlainRuntimeRequest({ ...usual, tools: [] }))
    assert.isTrue(isPlainRuntimeRequest(ofOlderRuntime))
    assert.isTrue(isPlainRuntimeRequest({ ...usual, temperature: 0.7, maxTokens: 100 }))
  })

  it("The fast path leaves model calls with any other member to their schema", () => {
    for (const more of [
      { tools: [{ name: "two words", description: "Calculates.", parameters: {} }] },
      { tools: [{ name: "calculate", description: "Calculates.", parameters: [] }] },
      { tools: [{ name: "calculate", description: "Calculates.", parameters: {}, strict: true }] },
      { messages: [{ role: "tool", content: "4", toolCallId: "1", toolName: "calculate" }] },
      { messages: [{ role: "user", content: "See", parts: [] }] },
      { conversation: { id: "chs_1", agentName: "Ada", owner: "usr_1" } },
      { conversation: undefined },
      { userId: "usr_1" },
      { maxTokens: 0.5 }
    ])
      assert.isFalse(isPlainRuntimeRequest({ ...usual, ...more }))
    assert.isFalse(isPlainRuntimeRequest(null))
  })
})
