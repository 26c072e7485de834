import { Predicate, Schema } from "effect"
import { optionalNullable } from "../vendor/VendorBodies.ts"

export type AnthropicUserBlock =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "image"
      readonly source:
        | { readonly type: "url"; readonly url: string }
        | { readonly type: "base64"; readonly media_type: string; readonly data: string }
    }
  | { readonly type: "tool_result"; readonly tool_use_id: string; readonly content: string }

type AnthropicAssistantBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: object }

/** Body of POST /messages. */
export interface AnthropicBody {
  readonly model: string
  readonly max_tokens: number
  readonly messages: ReadonlyArray<
    | { readonly role: "user"; readonly content: string | ReadonlyArray<AnthropicUserBlock> }
    | { readonly role: "assistant"; readonly content: string | ReadonlyArray<AnthropicAssistantBlock> }
  >
  readonly tools?: ReadonlyArray<{
    readonly name: string
    readonly description?: string
    readonly input_schema: object
  }>
  readonly tool_choice?:
    | { readonly type: "none" }
    | { readonly type: "auto" | "any"; readonly disable_parallel_tool_use?: boolean }
    | { readonly type: "tool"; readonly name: string; readonly disable_parallel_tool_use?: boolean }
  readonly output_config?: { readonly format: { readonly type: "json_schema"; readonly schema: object } }
  readonly stop_sequences?: ReadonlyArray<string>
  readonly stream: true
  readonly system?: string
  readonly temperature?: number
  readonly top_p?: number
}

/** Cumulative. Tokens read from or written to the vendor's cache are part of the prompt, but not of `input_tokens`. */
export const AnthropicUsage = Schema.Struct({
  input_tokens: optionalNullable(Schema.NonNegativeInt),
  cache_creation_input_tokens: optionalNullable(Schema.NonNegativeInt),
  cache_read_input_tokens: optionalNullable(Schema.NonNegativeInt),
  output_tokens: optionalNullable(Schema.NonNegativeInt)
})
export type AnthropicUsage = typeof AnthropicUsage.Type

export const AnthropicError = Schema.Struct({
  type: optionalNullable(Schema.String),
  message: optionalNullable(Schema.String),
  details: Schema.optional(Schema.Unknown)
})
export type AnthropicError = typeof AnthropicError.Type

export const AnthropicErrorDetails = Schema.Struct({ error_code: Schema.String })

export const AnthropicErrorBody = Schema.parseJson(Schema.Struct({ error: AnthropicError }))

const otherThan = (...known: ReadonlyArray<string>) =>
  Schema.Struct({ type: Schema.String.pipe(Schema.filter((type) => !known.includes(type))) })

const MessageStart = Schema.Struct({
  type: Schema.Literal("message_start"),
  message: Schema.Struct({ usage: optionalNullable(AnthropicUsage) })
})

const BlockStart = Schema.Struct({
  type: Schema.Literal("content_block_start"),
  index: optionalNullable(Schema.Int),
  // The vendor's built-in tools use other block types.
  content_block: Schema.Union(
    Schema.Struct({
      type: Schema.Literal("tool_use"),
      id: Schema.String,
      name: Schema.String,
      // Empty in a stream, where it arrives in deltas.
      input: Schema.optional(Schema.Unknown)
    }),
    otherThan("tool_use")
  )
})

const BlockDelta = Schema.Struct({
  type: Schema.Literal("content_block_delta"),
  index: optionalNullable(Schema.Int),
  // Thoughts and their signatures use other delta types.
  delta: Schema.Union(
    Schema.Struct({ type: Schema.Literal("text_delta"), text: Schema.String }),
    Schema.Struct({ type: Schema.Literal("input_json_delta"), partial_json: Schema.String }),
    otherThan("text_delta", "input_json_delta")
  )
})

const MessageDelta = Schema.Struct({
  type: Schema.Literal("message_delta"),
  delta: Schema.Struct({
    stop_reason: optionalNullable(Schema.String),
    stop_details: optionalNullable(Schema.Struct({ explanation: optionalNullable(Schema.String) }))
  }),
  usage: optionalNullable(AnthropicUsage)
})

export const AnthropicAnswerEvent = Schema.Union(MessageStart, BlockStart, BlockDelta, MessageDelta)
export type AnthropicAnswerEvent = typeof AnthropicAnswerEvent.Type

/** An event of a streamed answer. Pings and unknown types are keep-alives. */
export const AnthropicStreamEvent = Schema.Union(
  AnthropicAnswerEvent,
  Schema.Struct({ type: Schema.Literal("message_stop") }),
  Schema.Struct({ type: Schema.Literal("error"), error: AnthropicError }),
  otherThan("message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "error")
)

/** Hot path: reads a text delta without a schema; null for any other event. */
export const readAnthropicDelta = (json: unknown): AnthropicAnswerEvent | null => {
  if (!Predicate.isRecord(json) || json["type"] !== "content_block_delta") return null
  const { delta, index } = json
  return Number.isSafeInteger(index) &&
    Predicate.isNumber(index) &&
    Predicate.isRecord(delta) &&
    delta["type"] === "text_delta" &&
    Predicate.isString(delta["text"])
    ? { type: "content_block_delta", index, delta: { type: "text_delta", text: delta["text"] } }
    : null
}
