import { BodyIsMalformed, BodyIsTooLarge } from "@berth/api/http/TransportErrors"
import { largestAudio } from "@berth/domain/gateway/speech/SpeechBounds"
import { Multipart } from "@effect/platform"
import { Effect, Option, Stream } from "effect"

export interface FormFile {
  /** As its sender calls it. */
  readonly filename: string
  readonly bytes: Uint8Array
}

export interface Form {
  readonly fields: ReadonlyMap<string, string>
  readonly files: ReadonlyMap<string, FormFile>
}

/** The largest body of a form: its file, and what is around it. */
export const formLimit = largestAudio + 64 * 1024

const limits = {
  maxParts: Option.some(20),
  maxFieldSize: 16 * 1024,
  maxFileSize: Option.some(largestAudio),
  maxTotalSize: Option.some(formLimit)
}

/** Bytes that were read as they came, in one. */
const contentOf = (file: Multipart.File) =>
  Effect.map(Stream.runCollect(file.content), (pieces) => new Uint8Array(Buffer.concat([...pieces])))

const refused = ({ reason }: Multipart.MultipartError) => {
  switch (reason) {
    case "FileTooLarge":
      return new BodyIsTooLarge({ limit: largestAudio })
    case "BodyTooLarge":
      return new BodyIsTooLarge({ limit: formLimit })
    case "FieldTooLarge":
      return new BodyIsMalformed({ reason: "has a field that is too long" })
    case "TooManyParts":
      return new BodyIsMalformed({ reason: "has too many parts" })
    case "InternalError":
    case "Parse":
      return new BodyIsMalformed({ reason: "is not a well-formed form" })
  }
}

export const isForm = (contentType: string): boolean => /^\s*multipart\/form-data\s*(;|$)/i.test(contentType)

/**
 * A form from the bytes of its body, which others may have read before: nothing of it is written to a disk. `contentType`
 * names the boundary.
 */
export const readForm = (
  contentType: string,
  body: Uint8Array
): Effect.Effect<Form, BodyIsMalformed | BodyIsTooLarge> =>
  Effect.gen(function* () {
    const fields = new Map<string, string>()
    const files = new Map<string, FormFile>()
    yield* Stream.make(body).pipe(
      Stream.pipeThroughChannel(Multipart.makeChannel<never>({ "content-type": contentType })),
      Stream.mapError(refused),
      Stream.runForEach((part) =>
        Effect.gen(function* () {
          if (fields.has(part.key) || files.has(part.key)) {
            return yield* new BodyIsMalformed({ reason: "has a field more than once" })
          }
          if (part._tag === "Field") {
            fields.set(part.key, part.value)
            return
          }
          const bytes = yield* Effect.mapError(contentOf(part), refused)
          files.set(part.key, { filename: part.name, bytes })
        })
      )
    )
    return { fields, files }
  }).pipe(Multipart.withLimits(limits))
