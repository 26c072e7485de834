import { AnthropicStreamEvent, readAnthropicDelta } from "@berth/infra/ai/anthropic/AnthropicBodies"
import { GoogleStreamEvent, readGoogleDelta } from "@berth/infra/ai/google/GoogleBodies"
import { OpenAiStreamEvent, readOpenAiText } from "@berth/infra/ai/openai/OpenAiBodies"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, FastCheck, Schema } from "effect"

/** An absent member, null, or any JSON. */
const anyMember = FastCheck.oneof(FastCheck.constant(undefined), FastCheck.constant(null), FastCheck.jsonValue())
const text = FastCheck.oneof(FastCheck.string(), anyMember)

const openAiEvent = FastCheck.record(
  {
    choices: FastCheck.array(
      FastCheck.record(
        {
          delta: FastCheck.record(
            { content: text, tool_calls: anyMember, reasoning_details: anyMember },
            { requiredKeys: ["content"] }
          ),
          finish_reason: anyMember
        },
        { requiredKeys: ["delta"] }
      ),
      { maxLength: 2 }
    ),
    usage: anyMember,
    error: anyMember
  },
  { requiredKeys: ["choices"] }
)
const anthropicEvent = FastCheck.record({
  type: FastCheck.constantFrom("content_block_delta", "content_block_start", "ping"),
  index: FastCheck.oneof(FastCheck.nat(), FastCheck.double(), anyMember),
  delta: FastCheck.record({ type: FastCheck.constantFrom("text_delta", "thinking_delta"), text })
})
const googleEvent = FastCheck.record(
  {
    candidates: FastCheck.array(
      FastCheck.record(
        {
          content: FastCheck.record({
            parts: FastCheck.array(
              FastCheck.record({ text, thought: FastCheck.boolean() }, { requiredKeys: ["text"] }),
              { maxLength: 2 }
            )
          }),
          finishReason: anyMember
        },
        { requiredKeys: ["content"] }
      ),
      { maxLength: 2 }
    ),
    usageMetadata: FastCheck.oneof(
      FastCheck.record({ promptTokenCount: FastCheck.nat(), totalTokenCount: FastCheck.nat() }, { requiredKeys: [] }),
      anyMember
    )
  },
  { requiredKeys: ["candidates"] }
)

const wires: ReadonlyArray<
  readonly [
    name: string,
    read: (json: unknown) => unknown,
    decode: (json: unknown) => unknown,
    arbitrary: FastCheck.Arbitrary<unknown>,
    usual: ReadonlyArray<unknown>
  ]
> = [
  [
    "readOpenAiText",
    readOpenAiText,
    Schema.decodeUnknownSync(OpenAiStreamEvent),
    FastCheck.oneof(openAiEvent, Arbitrary.make(Schema.encodedSchema(OpenAiStreamEvent))),
    [
      { id: "x", choices: [{ index: 0, delta: { content: "Hi" }, logprobs: null, finish_reason: null }], usage: null },
      { id: "x", choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: null },
      {
        id: "x",
        choices: [],
        usage: {
          prompt_tokens: 4,
          completion_tokens: 1,
          total_tokens: 5,
          cost: 0.1,
          prompt_tokens_details: { cached_tokens: 2 }
        }
      }
    ]
  ],
  [
    "readAnthropicDelta",
    readAnthropicDelta,
    Schema.decodeUnknownSync(AnthropicStreamEvent),
    FastCheck.oneof(anthropicEvent, Arbitrary.make(Schema.encodedSchema(AnthropicStreamEvent))),
    [{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } }]
  ],
  [
    "readGoogleDelta",
    readGoogleDelta,
    Schema.decodeUnknownSync(GoogleStreamEvent),
    FastCheck.oneof(googleEvent, Arbitrary.make(Schema.encodedSchema(GoogleStreamEvent))),
    [
      {
        candidates: [{ content: { parts: [{ text: "Hi" }], role: "model" }, index: 0 }],
        usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 1, totalTokenCount: 5 }
      }
    ]
  ]
]

const withoutAbsent = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, member: unknown) => (member === null ? undefined : member)))

describe.each(wires)("%s", (name, read, decode, arbitrary, usual) => {
  it(`${name} reads the usual events of a text`, () => {
    for (const event of usual) {
      assert.isNotNull(read(event))
      assert.deepStrictEqual(withoutAbsent(read(event)), withoutAbsent(decode(event)))
    }
  })

  it.prop(`${name} returns what the schema decodes, or null`, [arbitrary], ([event]) => {
    const delta = read(event)
    if (delta !== null) assert.deepStrictEqual(withoutAbsent(delta), withoutAbsent(decode(event)))
  })
})
