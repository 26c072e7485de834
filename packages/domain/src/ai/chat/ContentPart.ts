import { Schema } from "effect"

/** An image for a model: where everybody can fetch it, which is the vendor's to do and never this service's, or itself. */
export const ImageSource = Schema.Union(
  Schema.Struct({ type: Schema.Literal("url"), url: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("data"),
    /** image/png and the like. */
    mediaType: Schema.String,
    /** Base64. */
    data: Schema.String
  })
).annotations({ identifier: "ImageSource" })
export type ImageSource = typeof ImageSource.Type

/** A piece of what somebody says to a model. */
export const ContentPart = Schema.Union(
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("image"),
    source: ImageSource,
    /** How closely to look, where a vendor asks. */
    detail: Schema.optionalWith(Schema.Literal("auto", "low", "high"), { exact: true })
  })
).annotations({ identifier: "ContentPart" })
export type ContentPart = typeof ContentPart.Type

/** The text of content, for models without image input. */
export const joinTextParts = (parts: ReadonlyArray<ContentPart>): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

export const hasImage = (parts: ReadonlyArray<ContentPart>): boolean => parts.some(({ type }) => type === "image")
