import { SttFields, SttFormFields, textOf, TtsFields } from "@berth/api/gateway/SpeechFields"
import { BodyIsTooLarge, MediaTypeIsUnsupported } from "@berth/api/http/TransportErrors"
import { PluginInputIsInvalid } from "@berth/domain/gateway/PluginRun"
import type { Recording, SpokenText } from "@berth/domain/gateway/Speech"
import { checkRecording, filenameOf, largestAudio } from "@berth/domain/gateway/speech/SpeechBounds"
import { HttpApiError } from "@effect/platform"
import { Effect, Schema } from "effect"
import type { BodyRefusal } from "../http/RequestBody.ts"
import type { CallContent } from "./CallContent.ts"
import type { Form } from "./ReadForm.ts"

export type AskedText = Omit<SpokenText, "userId">
export type AskedRecording = Omit<Recording, "userId">

/** What is asked of a plugin of speech, by whomever. */
export type SpeechRequest =
  | { readonly plugin: "tts"; readonly spoken: AskedText }
  | { readonly plugin: "stt"; readonly recording: AskedRecording }

/** Why a body is no such request: 413, 415 or malformed; fields that are wrong, each named; or what the bytes turn out to be. */
export type SpeechRequestRefusal = BodyRefusal | HttpApiError.HttpApiDecodeError | PluginInputIsInvalid

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

const readSpoken = (value: unknown) =>
  Effect.gen(function* () {
    const fields = yield* readTts(value)
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

const readRecordingForm = ({ fields, files }: Form) =>
  Effect.gen(function* () {
    const given = yield* readSttForm(Object.fromEntries([...fields].filter(([, value]) => value !== "")))
    const file = files.get("file")
    if (file === undefined) return yield* new PluginInputIsInvalid({ field: "file", reason: "must be a file" })
    return yield* recordingOf("file", file.bytes, file.filename, given)
  })

const readRecordingJson = (value: unknown) =>
  Effect.flatMap(readStt(value), (fields) => recordingOf("audio", fields.audio, fields.filename, fields))

/** Reads a request for speech. tts is JSON; stt is JSON with base64, or a form. */
export const readSpeechRequest = (
  plugin: "tts" | "stt",
  content: CallContent
): Effect.Effect<SpeechRequest, SpeechRequestRefusal> => {
  if (plugin === "stt")
    return Effect.map(
      content._tag === "Form" ? readRecordingForm(content.form) : readRecordingJson(content.value),
      (recording) => ({ plugin, recording })
    )
  if (content._tag === "Form") return new MediaTypeIsUnsupported({ supported: ["application/json"] })
  return Effect.map(readSpoken(content.value), (spoken) => ({ plugin, spoken }))
}
