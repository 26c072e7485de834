import { BodyMalformed, BodyTooLarge } from "@berth/api/http/TransportErrors"
import { maximumAudioBytes } from "@berth/domain/gateway/speech/SpeechLimits"
import { Effect } from "effect"

interface FormFile {
  /** File name sent by the client. */
  readonly filename: string
  readonly bytes: Uint8Array
}

export interface MultipartForm {
  readonly fields: ReadonlyMap<string, string>
  readonly files: ReadonlyMap<string, FormFile>
}

/** Maximum body of a form: a file with its multipart framing. */
export const maximumFormBytes = maximumAudioBytes + 64 * 1024

const maximumParts = 20
/** Characters. */
const maximumFieldLength = 16 * 1024

const malformed = (reason: string) => new BodyMalformed({ reason })
const formMalformed = malformed("is not a well-formed form")

export const isMultipartForm = (contentType: string): boolean => /^\s*multipart\/form-data\s*(;|$)/i.test(contentType)

/** Returns the boundary by RFC 2046. */
const boundaryOf = (contentType: string): string | null => {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]*))/i.exec(contentType) ?? []
  const boundary = quoted ?? bare ?? ""
  return /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/.test(boundary) ? boundary : null
}

/**
 * Removes the boundary, which differs in every repetition of a request, from the bytes of a form; returns other bodies
 * unchanged.
 */
export const withoutBoundary = (contentType: string, bytes: string): string => {
  const boundary = isMultipartForm(contentType) ? boundaryOf(contentType) : null
  return boundary === null ? bytes : bytes.replaceAll(boundary, () => "")
}

/** Whether a body exceeds `maximumParts`; each part would be a file in memory. */
const hasTooMany = (body: Uint8Array, boundary: string): boolean => {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const delimiter = Buffer.from(`--${boundary}`)
  let parts = 0
  for (let at = bytes.indexOf(delimiter); at >= 0; at = bytes.indexOf(delimiter, at + delimiter.length)) {
    parts += 1
    // The last delimiter ends the form.
    if (parts > maximumParts + 1) return true
  }
  return false
}

/** Node's parser of complete bytes, since its stream parser never ends on a truncated file. */
const parse = (boundary: string, body: Uint8Array): Promise<FormData> => {
  const headers = { "content-type": `multipart/form-data; boundary="${boundary}"` }
  // oxlint-disable-next-line typescript/no-deprecated -- since it keeps a form in memory, whose size is limited here
  return new Response(new Uint8Array(body), { headers }).formData()
}

/**
 * Parses a form in memory, without temporary files. `contentType` contains the boundary.
 */
export const readMultipartForm = Effect.fnUntraced(function* (
  contentType: string,
  body: Uint8Array
): Effect.fn.Return<MultipartForm, BodyMalformed | BodyTooLarge> {
  if (body.length > maximumFormBytes) return yield* new BodyTooLarge({ limit: maximumFormBytes })
  const boundary = boundaryOf(contentType)
  if (boundary === null) return yield* formMalformed
  if (hasTooMany(body, boundary)) return yield* malformed("has too many parts")
  const form = yield* Effect.tryPromise({ try: () => parse(boundary, body), catch: () => formMalformed })
  const fields = new Map<string, string>()
  const files = new Map<string, FormFile>()
  for (const [name, value] of form) {
    if (fields.has(name) || files.has(name)) return yield* malformed("has a field more than once")
    if (typeof value === "string") {
      if (value.length > maximumFieldLength) return yield* malformed("has a field that is too long")
      fields.set(name, value)
      continue
    }
    if (value.size > maximumAudioBytes) return yield* new BodyTooLarge({ limit: maximumAudioBytes })
    const bytes = new Uint8Array(yield* Effect.promise(() => value.arrayBuffer()))
    files.set(name, { filename: value.name, bytes })
  }
  return { fields, files }
})
