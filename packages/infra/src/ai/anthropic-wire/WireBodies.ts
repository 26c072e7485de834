import { Schema } from "effect"

/** The body of POST /messages. */
export interface MessagesBody {
  readonly model: string
  readonly max_tokens: number
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: string }>
  readonly stream: true
  readonly system?: string
  readonly temperature?: number
  readonly top_p?: number
}

const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

/** Counts so far; what is read from or written to the vendor's cache is part of the prompt, and not in `input_tokens`. */
export const WireUsage = Schema.Struct({
  input_tokens: maybe(Schema.NonNegativeInt),
  cache_creation_input_tokens: maybe(Schema.NonNegativeInt),
  cache_read_input_tokens: maybe(Schema.NonNegativeInt),
  output_tokens: maybe(Schema.NonNegativeInt)
})
export type WireUsage = typeof WireUsage.Type

export const WireError = Schema.Struct({
  type: maybe(Schema.String),
  message: maybe(Schema.String),
  details: Schema.optional(Schema.Unknown)
})
export type WireError = typeof WireError.Type

/** What the details of some errors say. */
export const ErrorDetails = Schema.Struct({ error_code: Schema.String })

export const ErrorBody = Schema.parseJson(Schema.Struct({ error: WireError }))

const otherThan = (...known: ReadonlyArray<string>) =>
  Schema.Struct({ type: Schema.String.pipe(Schema.filter((type) => !known.includes(type))) })

const MessageStart = Schema.Struct({
  type: Schema.Literal("message_start"),
  message: Schema.Struct({ usage: maybe(WireUsage) })
})

const BlockDelta = Schema.Struct({
  type: Schema.Literal("content_block_delta"),
  // Thoughts and their signatures come as deltas of other types.
  delta: Schema.Union(
    Schema.Struct({ type: Schema.Literal("text_delta"), text: Schema.String }),
    otherThan("text_delta")
  )
})

const MessageDelta = Schema.Struct({
  type: Schema.Literal("message_delta"),
  delta: Schema.Struct({
    stop_reason: maybe(Schema.String),
    stop_details: maybe(Schema.Struct({ explanation: maybe(Schema.String) }))
  }),
  usage: maybe(WireUsage)
})

/** What of a streamed answer matters to it. */
export const AnswerEvent = Schema.Union(MessageStart, BlockDelta, MessageDelta)
export type AnswerEvent = typeof AnswerEvent.Type

/** One event of a streamed answer. Pings and types that are yet to be thought of are only signs of life. */
export const StreamEvent = Schema.parseJson(
  Schema.Union(
    AnswerEvent,
    Schema.Struct({ type: Schema.Literal("message_stop") }),
    Schema.Struct({ type: Schema.Literal("error"), error: WireError }),
    otherThan("message_start", "content_block_delta", "message_delta", "message_stop", "error")
  )
)
