import { Schema } from "effect"
import { optionalNullable } from "../vendor/OptionalField.ts"

/** A piece of what a user says. */
export type OpenAiPartBody =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string; readonly detail?: string } }

export type OpenAiMessageBody =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | ReadonlyArray<OpenAiPartBody> }
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
export interface OpenAiCompletionBody {
  readonly model: string
  readonly messages: ReadonlyArray<OpenAiMessageBody>
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

export const OpenAiUsage = Schema.Struct({
  prompt_tokens: Schema.NonNegativeInt,
  completion_tokens: Schema.NonNegativeInt,
  total_tokens: optionalNullable(Schema.NonNegativeInt)
})
export type OpenAiUsage = typeof OpenAiUsage.Type

/** An error as OpenAI, OpenRouter and Groq write it; OpenRouter's code is a status. */
export const OpenAiErrorObject = Schema.Union(
  Schema.Struct({
    message: optionalNullable(Schema.String),
    type: optionalNullable(Schema.String),
    code: optionalNullable(Schema.Union(Schema.String, Schema.Number))
  }),
  Schema.String
)
export type OpenAiErrorObject = typeof OpenAiErrorObject.Type

export const OpenAiErrorBody = Schema.parseJson(Schema.Struct({ error: OpenAiErrorObject }))

/** A call of a tool, or a piece of one. */
export const OpenAiToolCall = Schema.Struct({
  index: optionalNullable(Schema.Int),
  id: optionalNullable(Schema.String),
  function: optionalNullable(
    Schema.Struct({
      name: optionalNullable(Schema.String),
      // A text by the protocol; some servers send the object itself.
      arguments: Schema.optional(Schema.Unknown)
    })
  )
})
export type OpenAiToolCall = typeof OpenAiToolCall.Type

/** What OpenRouter tells of a model's thoughts that only the vendor can read. Gemini wants it back with its calls. */
export const ReasoningDetail = Schema.Struct(
  { type: Schema.Literal("reasoning.encrypted"), data: Schema.String },
  { key: Schema.String, value: Schema.Unknown }
)
export type ReasoningDetail = typeof ReasoningDetail.Type

const messageFields = {
  content: optionalNullable(Schema.String),
  tool_calls: optionalNullable(Schema.Array(OpenAiToolCall)),
  reasoning_details: optionalNullable(Schema.Array(Schema.Unknown))
}

/** One event of a streamed answer. */
export const CompletionChunk = Schema.Struct({
  choices: Schema.Array(
    Schema.Struct({
      delta: optionalNullable(Schema.Struct(messageFields)),
      finish_reason: optionalNullable(Schema.String)
    })
  ),
  usage: optionalNullable(OpenAiUsage),
  // Groq's place for it.
  x_groq: optionalNullable(Schema.Struct({ usage: optionalNullable(OpenAiUsage) }))
})
export type CompletionChunk = typeof CompletionChunk.Type

export const OpenAiStreamEvent = Schema.parseJson(
  Schema.Union(Schema.Struct({ error: OpenAiErrorObject }), CompletionChunk)
)

/** A whole answer, from servers that do not stream. */
export const OpenAiCompletionAnswer = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ error: OpenAiErrorObject }),
    Schema.Struct({
      choices: Schema.Array(
        Schema.Struct({
          message: Schema.Struct(messageFields),
          finish_reason: optionalNullable(Schema.String)
        })
      ),
      usage: optionalNullable(OpenAiUsage)
    })
  )
)
