import { Schema } from "effect"

/** An image as a URL, which only the vendor fetches, or as data. */
export const ImageSource = Schema.Union(
  Schema.Struct({ type: Schema.Literal("url"), url: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("data"),
    /** For example image/png. */
    mediaType: Schema.String,
    /** Base64. */
    data: Schema.String
  })
).annotations({ identifier: "ImageSource" })
export type ImageSource = typeof ImageSource.Type

export const ContentPart = Schema.Union(
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("image"),
    source: ImageSource,
    /** Resolution, for vendors that support it. */
    detail: Schema.optionalWith(Schema.Literal("auto", "low", "high"), { exact: true })
  })
).annotations({ identifier: "ContentPart" })
export type ContentPart = typeof ContentPart.Type

export const joinTextParts = (parts: ReadonlyArray<ContentPart>): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

export const hasImage = (parts: ReadonlyArray<ContentPart>): boolean => parts.some(({ type }) => type === "image")
