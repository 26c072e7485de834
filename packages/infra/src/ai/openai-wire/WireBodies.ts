import { Schema } from "effect"
import { maybe } from "../wire/Maybe.ts"

/** A piece of what a user says. */
export type PartBody =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string; readonly detail?: string } }

export type MessageBody =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | ReadonlyArray<PartBody> }
  | {
      readonly role: "assistant"
      /** Null beside calls alone. */
      readonly content: string | null
      readonly tool_calls?: ReadonlyArray<{
        readonly id: string
        readonly type: "function"
        readonly function: { readonly name: string; readonly arguments: string }
      }>
      /** OpenRouter's: what a model thought before it called. */
      readonly reasoning_details?: ReadonlyArray<ReasoningDetail>
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string }

/** The body of POST /chat/completions. */
export interface CompletionBody {
  readonly model: string
  readonly messages: ReadonlyArray<MessageBody>
  readonly tools?: ReadonlyArray<{
    readonly type: "function"
    readonly function: { readonly name: string; readonly description: string; readonly parameters: object }
  }>
  readonly tool_choice?:
    "auto" | "none" | "required" | { readonly type: "function"; readonly function: { readonly name: string } }
  readonly parallel_tool_calls?: boolean
  readonly response_format?:
    | { readonly type: "json_object" }
    | {
        readonly type: "json_schema"
        readonly json_schema: {
          readonly name: string
          readonly description?: string
          readonly schema: object
          readonly strict?: boolean
        }
      }
  readonly stream: true
  readonly stream_options: { readonly include_usage: true }
  readonly temperature?: number
  readonly top_p?: number
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
  readonly stop?: ReadonlyArray<string>
  readonly seed?: number
  readonly frequency_penalty?: number
  readonly presence_penalty?: number
}

export const WireUsage = Schema.Struct({
  prompt_tokens: Schema.NonNegativeInt,
  completion_tokens: Schema.NonNegativeInt,
  total_tokens: maybe(Schema.NonNegativeInt)
})
export type WireUsage = typeof WireUsage.Type

/** An error as OpenAI, OpenRouter and Groq write it; OpenRouter's code is a status. */
export const WireError = Schema.Union(
  Schema.Struct({
    message: maybe(Schema.String),
    type: maybe(Schema.String),
    code: maybe(Schema.Union(Schema.String, Schema.Number))
  }),
  Schema.String
)
export type WireError = typeof WireError.Type

export const ErrorBody = Schema.parseJson(Schema.Struct({ error: WireError }))

/** A call of a tool, or a piece of one. */
export const WireToolCall = Schema.Struct({
  index: maybe(Schema.Int),
  id: maybe(Schema.String),
  function: maybe(
    Schema.Struct({
      name: maybe(Schema.String),
      // A text by the protocol; some servers send the object itself.
      arguments: Schema.optional(Schema.Unknown)
    })
  )
})
export type WireToolCall = typeof WireToolCall.Type

/** What OpenRouter tells of a model's thoughts that only the vendor can read. Gemini wants it back with its calls. */
export const ReasoningDetail = Schema.Struct(
  { type: Schema.Literal("reasoning.encrypted"), data: Schema.String },
  { key: Schema.String, value: Schema.Unknown }
)
export type ReasoningDetail = typeof ReasoningDetail.Type

const Said = {
  content: maybe(Schema.String),
  tool_calls: maybe(Schema.Array(WireToolCall)),
  reasoning_details: maybe(Schema.Array(Schema.Unknown))
}

/** One event of a streamed answer. */
export const CompletionChunk = Schema.Struct({
  choices: Schema.Array(
    Schema.Struct({
      delta: maybe(Schema.Struct(Said)),
      finish_reason: maybe(Schema.String)
    })
  ),
  usage: maybe(WireUsage),
  // Groq's place for it.
  x_groq: maybe(Schema.Struct({ usage: maybe(WireUsage) }))
})
export type CompletionChunk = typeof CompletionChunk.Type

export const StreamEvent = Schema.parseJson(Schema.Union(Schema.Struct({ error: WireError }), CompletionChunk))

/** A whole answer, from servers that do not stream. */
export const Completion = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ error: WireError }),
    Schema.Struct({
      choices: Schema.Array(
        Schema.Struct({
          message: Schema.Struct(Said),
          finish_reason: maybe(Schema.String)
        })
      ),
      usage: maybe(WireUsage)
    })
  )
)
