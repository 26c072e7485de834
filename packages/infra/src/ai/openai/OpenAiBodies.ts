import { Predicate, Schema } from "effect"
import { optionalNullable } from "../vendor/VendorBodies.ts"

export type OpenAiPartBody =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string; readonly detail?: string } }

export type OpenAiMessageBody =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | ReadonlyArray<OpenAiPartBody> }
  | {
      readonly role: "assistant"
      /** Null for tool calls without text. */
      readonly content: string | null
      readonly tool_calls?: ReadonlyArray<{
        readonly id: string
        readonly type: "function"
        readonly function: { readonly name: string; readonly arguments: string }
      }>
      /** OpenRouter only: the reasoning before the calls. */
      readonly reasoning_details?: ReadonlyArray<ReasoningDetail>
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string }

/** Body of POST /chat/completions. */
export interface OpenAiBody {
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
  total_tokens: optionalNullable(Schema.NonNegativeInt),
  // Compatible servers report details in many formats.
  prompt_tokens_details: Schema.optional(Schema.Unknown),
  completion_tokens_details: Schema.optional(Schema.Unknown)
})
export type OpenAiUsage = typeof OpenAiUsage.Type

/** OpenRouter's `code` is an HTTP status. */
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

/** A tool call, or a fragment of one. */
export const OpenAiToolCall = Schema.Struct({
  index: optionalNullable(Schema.Int),
  id: optionalNullable(Schema.String),
  function: optionalNullable(
    Schema.Struct({
      name: optionalNullable(Schema.String),
      // JSON text; some servers send the object itself.
      arguments: Schema.optional(Schema.Unknown)
    })
  )
})
export type OpenAiToolCall = typeof OpenAiToolCall.Type

/** OpenRouter's encrypted reasoning, which Gemini requires with its calls. */
export const ReasoningDetail = Schema.Struct(
  { type: Schema.Literal("reasoning.encrypted"), data: Schema.String },
  { key: Schema.String, value: Schema.Unknown }
)
export type ReasoningDetail = typeof ReasoningDetail.Type

const messageFields = {
  content: optionalNullable(Schema.String),
  // The text of an answer that the model declines.
  refusal: optionalNullable(Schema.String),
  tool_calls: optionalNullable(Schema.Array(OpenAiToolCall)),
  reasoning_details: optionalNullable(Schema.Array(Schema.Unknown))
}

/** An event of a streamed answer. */
export const OpenAiAnswerChunk = Schema.Struct({
  choices: Schema.Array(
    Schema.Struct({
      delta: optionalNullable(Schema.Struct(messageFields)),
      finish_reason: optionalNullable(Schema.String)
    })
  ),
  usage: optionalNullable(OpenAiUsage),
  // Usage as reported by Groq.
  x_groq: optionalNullable(Schema.Struct({ usage: optionalNullable(OpenAiUsage) }))
})
export type OpenAiAnswerChunk = typeof OpenAiAnswerChunk.Type

export const OpenAiStreamEvent = Schema.Union(Schema.Struct({ error: OpenAiErrorObject }), OpenAiAnswerChunk)

const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const readUsage = (usage: unknown): OpenAiUsage | null => {
  if (!Predicate.isRecord(usage)) return null
  const { completion_tokens, completion_tokens_details, prompt_tokens, prompt_tokens_details, total_tokens } = usage
  return isCount(prompt_tokens) && isCount(completion_tokens) && (isAbsent(total_tokens) || isCount(total_tokens))
    ? { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details, completion_tokens_details }
    : null
}

/** Hot path: reads text, the end of a text and its usage without a schema; null for any other event. */
export const readOpenAiText = (json: unknown): OpenAiAnswerChunk | null => {
  if (!Predicate.isRecord(json) || "error" in json || !isAbsent(json["x_groq"])) return null
  const { choices } = json
  const usage = isAbsent(json["usage"]) ? undefined : readUsage(json["usage"])
  if (usage === null || !Array.isArray(choices) || choices.length > 1) return null
  if (choices.length === 0) return usage === undefined ? null : { choices: [], usage }
  const choice: unknown = choices[0]
  if (!Predicate.isRecord(choice) || !Predicate.isRecord(choice["delta"])) return null
  const { finish_reason } = choice
  const { content, reasoning_details, refusal, tool_calls } = choice["delta"]
  if (!isAbsent(refusal) || !isAbsent(tool_calls) || !isAbsent(reasoning_details)) return null
  if (isAbsent(finish_reason))
    return Predicate.isString(content) ? { choices: [{ delta: { content } }], ...(usage && { usage }) } : null
  if (!Predicate.isString(finish_reason) || !(isAbsent(content) || Predicate.isString(content))) return null
  return { choices: [{ delta: { content }, finish_reason }], ...(usage && { usage }) }
}

/** A complete answer, from a server without streaming. */
export const OpenAiCompletionAnswer = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ error: OpenAiErrorObject }),
    Schema.Struct({
      // Not validated, since the answer is usable without them.
      id: Schema.optional(Schema.Unknown),
      model: Schema.optional(Schema.Unknown),
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
