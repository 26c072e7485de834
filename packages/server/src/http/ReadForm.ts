import { BodyIsMalformed } from "@berth/api/http/TransportErrors"
import { Multipart } from "@effect/platform"
import { Effect, Stream } from "effect"

/** A file of a form. */
export interface FormFile {
  readonly name: string
  readonly contentType: string
  readonly content: Uint8Array
}

/** What a form holds, by name; of several parts with one name the last. */
export interface Form {
  readonly fields: Readonly<Record<string, string>>
  readonly files: ReadonlyMap<string, FormFile>
}

type Named = readonly [name: string, value: string | FormFile]

const read = (part: Multipart.Part): Effect.Effect<Named, Multipart.MultipartError> =>
  part._tag === "Field"
    ? Effect.succeed([part.key, part.value])
    : Effect.map(part.contentEffect, (content) => [
        part.key,
        { name: part.name, contentType: part.contentType, content }
      ])

/** The form in the bytes of a body, by the `Content-Type` it came with. */
export const readForm = (
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>>
): Effect.Effect<Form, BodyIsMalformed> =>
  Stream.make(bytes).pipe(
    Stream.pipeThroughChannel(Multipart.makeChannel<never>(headers)),
    Stream.mapEffect(read),
    Stream.runCollect,
    Effect.mapBoth({
      onFailure: () => new BodyIsMalformed({ reason: "is no form of the boundary that Content-Type names" }),
      onSuccess: (parts): Form => {
        const fields = new Map<string, string>()
        const files = new Map<string, FormFile>()
        for (const [name, value] of parts)
          if (typeof value === "string") fields.set(name, value)
          else files.set(name, value)
        return { fields: Object.fromEntries(fields), files }
      }
    })
  )
