import type { ContentPart, ImageSource } from "@berth/domain/ai/chat/ContentPart"
import type { ResponseFormat } from "@berth/domain/ai/chat/ModelChat"
import { Schema } from "effect"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })

// Checks only the beginning, since images are long.
const asData = /^data:(image\/[a-z0-9.+-]{1,60});base64,/i
const asAddress = /^https?:\/\/[^\s/]/i

const longestAddress = 8_192

/** An address (`https:`) or data (`data:image/png;base64,…`). */
export const ImageUrl = Schema.String.pipe(
  Schema.filter((url) => asData.test(url) || (url.length <= longestAddress && asAddress.test(url)), {
    message: () => "must be an http(s) address or data:image/<type>;base64,<data>"
  })
).annotations({ identifier: "ImageUrl" })

export const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }).annotations({
  identifier: "TextPart"
})

/** OpenAI's image part. */
const ImagePart = Schema.Struct({
  type: Schema.Literal("image_url"),
  image_url: Schema.Struct({ url: ImageUrl, detail: optional(Schema.Literal("auto", "low", "high")) })
}).annotations({ identifier: "ImagePart" })

export const TextContent = Schema.Union(Schema.String, Schema.NonEmptyArray(TextPart))

export const UserContent = Schema.Union(Schema.String, Schema.NonEmptyArray(Schema.Union(TextPart, ImagePart)))

export const ResponseFormatBody = Schema.Union(
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("json_object") }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    json_schema: Schema.Struct({
      name: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/)),
      description: optional(Schema.String),
      schema: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
      strict: optional(Schema.Boolean)
    })
  })
).annotations({ identifier: "ResponseFormat" })

const sourceOf = (url: string): ImageSource => {
  const mediaType = asData.exec(url)?.[1]
  return mediaType === undefined
    ? { type: "url", url }
    : { type: "data", mediaType: mediaType.toLowerCase(), data: url.slice(url.indexOf(",") + 1) }
}

export const parseContentParts = (
  content: ReadonlyArray<typeof TextPart.Type | typeof ImagePart.Type>
): ReadonlyArray<ContentPart> =>
  content.map((part) =>
    part.type === "text"
      ? part
      : {
          type: "image",
          source: sourceOf(part.image_url.url),
          ...(part.image_url.detail === undefined ? {} : { detail: part.image_url.detail })
        }
  )

export const parseResponseFormat = (body: typeof ResponseFormatBody.Type | undefined): ResponseFormat | undefined => {
  if (body === undefined || body.type === "text") return undefined
  if (body.type === "json_object") return { type: "json-object" }
  const { schema = {}, ...rest } = body.json_schema
  return { type: "json-schema", schema, ...rest }
}
