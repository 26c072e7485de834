import { Data, Duration, Either, Schema } from "effect"
import type { ContentPart } from "../../ai/chat/ContentPart.ts"
import { idSchema } from "../../ids/IdGenerator.ts"

export const AttachmentId = idSchema("AttachmentId", "Id of an attachment, att_…")
export type AttachmentId = typeof AttachmentId.Type

/** Accepted by every provider with image input. Every text file is text/plain, so that browsers never execute it. */
export const AttachmentType = Schema.Literal("image/png", "image/jpeg", "image/webp", "image/gif", "text/plain")
export type AttachmentType = typeof AttachmentType.Type

/** A file that an owner sends to an agent with a message. */
export const Attachment = Schema.Struct({
  id: AttachmentId,
  name: Schema.String,
  mediaType: AttachmentType,
  size: Schema.Int.annotations({ description: "Bytes" })
}).annotations({ identifier: "Attachment" })
export type Attachment = typeof Attachment.Type

export const attachmentLimits = {
  /** Per message: text files and images. */
  files: 8,
  /** Bytes of an image. Its base64 encoding is below the strictest provider's 4 MB. */
  imageBytes: 3_000_000,
  /** Bytes of the text files of a message. */
  textBytes: 200_000,
  /** Images per model call; earlier images of the conversation are only named. */
  promptImages: 8,
  nameLength: 200,
  /** Bytes per owner. Each file counts as at least `leastBytes`, for its row and index entries. */
  ownerBytes: 500_000_000,
  leastBytes: 4_096
} as const

/** Retention of uploads that no message references. */
export const unsentAttachmentRetention = Duration.days(1)

export class AttachmentInvalid extends Data.TaggedError("AttachmentInvalid")<{
  readonly reason: string
}> {}
export class AttachmentNotFound extends Data.TaggedError("AttachmentNotFound")<object> {}
/** The owner's limit of bytes. */
export class AttachmentLimitReached extends Data.TaggedError("AttachmentLimitReached")<{
  readonly limit: number
}> {}
/** The agent's model accepts no images. */
export class ImagesNotSupported extends Data.TaggedError("ImagesNotSupported")<{
  readonly model: string
}> {}

export const isImage = ({ mediaType }: Pick<Attachment, "mediaType">): boolean => mediaType !== "text/plain"

const startsWith = (bytes: Uint8Array, signature: ReadonlyArray<number>, at = 0) =>
  signature.every((byte, index) => bytes[at + index] === byte)

const codes = (text: string) => [...text].map((letter) => letter.charCodeAt(0))

/** Detects the type by the first bytes, regardless of the name. */
const findImageType = (bytes: Uint8Array): AttachmentType | undefined => {
  if (startsWith(bytes, [0x89, ...codes("PNG\r\n\u001A\n")])) return "image/png"
  if (startsWith(bytes, [0xff, 0xd8, 0xff])) return "image/jpeg"
  if (startsWith(bytes, codes("GIF87a")) || startsWith(bytes, codes("GIF89a"))) return "image/gif"
  return startsWith(bytes, codes("RIFF")) && startsWith(bytes, codes("WEBP"), 8) ? "image/webp" : undefined
}

/** Valid UTF-8 without U+0000, which PostgreSQL text excludes. */
const isText = (bytes: Uint8Array) =>
  !bytes.includes(0) && Either.isRight(Either.try(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes)))

const invalid = (reason: string) => Either.left(new AttachmentInvalid({ reason }))

/** Returns the type of an upload by its bytes; fails above the limits. */
export const readAttachmentType = (bytes: Uint8Array): Either.Either<AttachmentType, AttachmentInvalid> => {
  if (bytes.length === 0) return invalid("The file is empty.")
  const image = findImageType(bytes)
  const mediaType = image ?? (isText(bytes) ? "text/plain" : undefined)
  if (mediaType === undefined)
    return invalid("The file is neither a PNG, JPEG, WebP or GIF image nor a text file in UTF-8.")
  const limit = image === undefined ? attachmentLimits.textBytes : attachmentLimits.imageBytes
  return bytes.length > limit
    ? invalid(`${image === undefined ? "A text file" : "An image"} has at most ${limit} bytes.`)
    : Either.right(mediaType)
}

/** Returns the base name on one line, without folders. */
export const cleanFileName = (text: string): string => {
  const name = text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"]/gu, " ")
    .split(/[/\\]/)
    .at(-1)
  const cut = [...(name ?? "").trim().toWellFormed()].slice(0, attachmentLimits.nameLength).join("")
  return cut === "" ? "file" : cut
}

/** Returns the distinct ids in a message. */
export const readNamedAttachments = (
  named: ReadonlyArray<AttachmentId>
): Either.Either<ReadonlyArray<AttachmentId>, AttachmentInvalid> => {
  const ids = [...new Set(named)]
  const { files } = attachmentLimits
  return ids.length > files ? invalid(`A message has at most ${files} attachments.`) : Either.right(ids)
}

/** Validates the attachments of a message, except whether the model accepts images. */
export const checkAttachments = (
  attachments: ReadonlyArray<Attachment>
): Either.Either<ReadonlyArray<Attachment>, AttachmentInvalid> => {
  const { textBytes } = attachmentLimits
  const texts = attachments.reduce((sum, attachment) => sum + (isImage(attachment) ? 0 : attachment.size), 0)
  return texts > textBytes
    ? invalid(`The text files of a message have at most ${textBytes} bytes together.`)
    : Either.right(attachments)
}

/** The fence is longer than any fence in the text, so that the text cannot end it. */
const fence = (text: string) => {
  let longest = 2
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length)
  return "`".repeat(longest + 1)
}

/** Returns the minimum length of a message for a model: a UTF-16 code unit has at most three bytes of UTF-8. */
export const countLeastCharacters = (content: string, attachments: ReadonlyArray<Attachment>): number =>
  attachments.reduce(
    (sum, attachment) => sum + (isImage(attachment) ? 0 : Math.ceil(attachment.size / 3)),
    content.length
  )

/** Returns the text of a message for a model, with the contents of text files and the names of images. */
export const describeAttachments = (
  content: string,
  attachments: ReadonlyArray<Attachment>,
  texts: ReadonlyMap<string, string>
): string =>
  [
    content,
    ...attachments.map((attachment) => {
      const { id, name } = attachment
      if (isImage(attachment)) return `[Attached image: ${name}]`
      const text = texts.get(id) ?? ""
      return `Attached file ${name}:\n${fence(text)}\n${text}\n${fence(text)}`
    })
  ]
    .filter((part) => part !== "")
    .join("\n\n")

const referencePrefix = "attachment:"

/**
 * References an image of a prompt by its id. Instances forward the reference; the backend replaces it with the data.
 */
export const makeImageReference = (id: string): ContentPart => ({
  type: "image",
  source: { type: "url", url: `${referencePrefix}${id}` }
})

export const findReferencedImage = (part: ContentPart): AttachmentId | undefined =>
  part.type === "image" && part.source.type === "url" && part.source.url.startsWith(referencePrefix)
    ? AttachmentId.make(part.source.url.slice(referencePrefix.length))
    : undefined
