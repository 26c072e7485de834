import { SttFields, SttFormFields, textOf, TtsFields } from "@berth/api/gateway/SpeechFields"
import { BodyIsTooLarge } from "@berth/api/http/TransportErrors"
import { PluginInputIsInvalid } from "@berth/domain/gateway/PluginRun"
import type { Recording, SpokenText } from "@berth/domain/gateway/Speech"
import { checkRecording, filenameOf, largestAudio } from "@berth/domain/gateway/speech/SpeechBounds"
import { HttpApiError } from "@effect/platform"
import { Effect, Schema } from "effect"
import { type BodyRefusal, parseJson } from "../http/RequestBody.ts"
import { formLimit, isForm, readForm } from "./ReadForm.ts"

export type AskedText = Omit<SpokenText, "userId">
export type AskedRecording = Omit<Recording, "userId">

/** What is asked of a plugin of speech, by whomever. */
export type SpeechRequest =
  | { readonly plugin: "tts"; readonly spoken: AskedText }
  | { readonly plugin: "stt"; readonly recording: AskedRecording }

/** Why a body is no such request: 413, 415 or malformed; fields that are wrong, each named; or what the bytes turn out to be. */
export type SpeechRequestRefusal = BodyRefusal | HttpApiError.HttpApiDecodeError | PluginInputIsInvalid

/** The largest body that such a request may have; in JSON, base64 takes a quarter of it. */
export const speechBodyLimit = formLimit

const decoded = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(schema)
  return (value: unknown) =>
    Effect.catchTag(decode(value), "ParseError", (error) =>
      Effect.flatMap(HttpApiError.HttpApiDecodeError.fromParseError(error), Effect.fail)
    )
}

const readTts = decoded(TtsFields)
const readStt = decoded(SttFields)
const readSttForm = decoded(SttFormFields)

const readSpoken = (body: Uint8Array) =>
  Effect.gen(function* () {
    const fields = yield* readTts(yield* parseJson(body))
    const { format, model, response_format, speed, voice } = fields
    return { text: textOf(fields), voice, format: format ?? response_format, speed, model } satisfies AskedText
  })

/** The file and its name in `field`, as what they are. */
const recordingOf = (
  field: string,
  audio: Uint8Array,
  filename: string | undefined,
  { language, model, prompt }: SttFormFields
): Effect.Effect<AskedRecording, BodyIsTooLarge | PluginInputIsInvalid> =>
  Effect.gen(function* () {
    if (audio.length > largestAudio) return yield* new BodyIsTooLarge({ limit: largestAudio })
    const kind = yield* Effect.mapError(checkRecording({ audio, language, prompt }), (invalid) =>
      invalid.field === "audio" ? new PluginInputIsInvalid({ field, reason: invalid.reason }) : invalid
    )
    return {
      audio,
      contentType: kind.contentType,
      filename: filenameOf(filename, kind),
      language,
      prompt,
      model
    }
  })

const readRecordingForm = (contentType: string, body: Uint8Array) =>
  Effect.gen(function* () {
    const { fields, files } = yield* readForm(contentType, body)
    const given = yield* readSttForm(Object.fromEntries([...fields].filter(([, value]) => value !== "")))
    const file = files.get("file")
    if (file === undefined) return yield* new PluginInputIsInvalid({ field: "file", reason: "must be a file" })
    return yield* recordingOf("file", file.bytes, file.filename, given)
  })

const readRecording = (contentType: string, body: Uint8Array) =>
  isForm(contentType)
    ? readRecordingForm(contentType, body)
    : Effect.gen(function* () {
        const fields = yield* readStt(yield* parseJson(body))
        return yield* recordingOf("audio", fields.audio, fields.filename, fields)
      })

/**
 * Reads a request for speech from the bytes of its body, which are read once: what else is made of them (a digest) and
 * this see the same. tts is JSON; stt is JSON with base64, or a form where `contentType` says so.
 */
export const readSpeechRequest = (
  plugin: "tts" | "stt",
  contentType: string,
  body: Uint8Array
): Effect.Effect<SpeechRequest, SpeechRequestRefusal> =>
  plugin === "tts"
    ? Effect.map(readSpoken(body), (spoken) => ({ plugin, spoken }))
    : Effect.map(readRecording(contentType, body), (recording) => ({ plugin, recording }))
