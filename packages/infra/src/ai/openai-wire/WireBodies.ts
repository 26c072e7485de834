import { Schema } from "effect"

/** The body of POST /chat/completions. */
export interface CompletionBody {
  readonly model: string
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }>
  readonly stream: true
  readonly stream_options: { readonly include_usage: true }
  readonly temperature?: number
  readonly top_p?: number
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
}

const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

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

/** One event of a streamed answer. */
export const CompletionChunk = Schema.Struct({
  choices: Schema.Array(
    Schema.Struct({
      delta: maybe(Schema.Struct({ content: maybe(Schema.String) })),
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
          message: Schema.Struct({ content: maybe(Schema.String) }),
          finish_reason: maybe(Schema.String)
        })
      ),
      usage: maybe(WireUsage)
    })
  )
)
