import { Schema } from "effect"
import { ModelName, namesFirstItem, payload } from "../http/Payload.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })
const Text = Schema.String.pipe(Schema.minLength(1))

/** OpenAI's request, except inputs as token numbers. */
export const EmbeddingPayload = payload({
  model: ModelName,
  input: Schema.Union(Text, Schema.NonEmptyArray(Text).annotations(namesFirstItem).pipe(Schema.maxItems(2048))),
  dimensions: optional(Schema.Int.pipe(Schema.positive())),
  encoding_format: optional(Schema.Literal("float", "base64"))
}).annotations({ identifier: "OpenAiEmbeddingRequest" })

export const EmbeddingList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(
    Schema.Struct({
      object: Schema.Literal("embedding"),
      index: Schema.Int,
      embedding: Schema.Union(Schema.Array(Schema.Number), Schema.String)
    })
  ),
  model: Schema.String,
  usage: Schema.Struct({ prompt_tokens: Schema.Int, total_tokens: Schema.Int })
}).annotations({ identifier: "OpenAiEmbeddings" })
