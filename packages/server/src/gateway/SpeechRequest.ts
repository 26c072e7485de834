import { SttFields, SttFormFields, readSpeechText, TtsFields } from "@berth/api/gateway/speech/SpeechFields"
import { BodyTooLarge, MediaTypeUnsupported } from "@berth/api/http/TransportErrors"
import { PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import type { Recording, SpeechInput } from "@berth/domain/gateway/speech/Speech"
import { validateRecording, makeAudioFilename, maximumAudioBytes } from "@berth/domain/gateway/speech/SpeechLimits"
import type { HttpApiError } from "@effect/platform"
import { Effect } from "effect"
import type { BodyFailure } from "../http/ListenerRequest.ts"
import { type CallContent, makeDecoder } from "./CallContent.ts"
import type { MultipartForm } from "./MultipartForm.ts"

type RequestedText = Omit<SpeechInput, "userId" | "ownKeysOnly">
type RequestedRecording = Omit<Recording, "userId" | "ownKeysOnly">

export type SpeechRequest =
  | { readonly plugin: "tts"; readonly spoken: RequestedText }
  | { readonly plugin: "stt"; readonly recording: RequestedRecording }

type SpeechRequestFailure = BodyFailure | HttpApiError.HttpApiDecodeError | PluginInputInvalid

const readTts = makeDecoder(TtsFields)
const readStt = makeDecoder(SttFields)
const readSttForm = makeDecoder(SttFormFields)

const readSpoken = Effect.fnUntraced(function* (value: unknown) {
  const fields = yield* readTts(value)
  const { format, model, response_format, speed, voice } = fields
  return {
    text: readSpeechText(fields),
    voice,
    format: format ?? response_format,
    speed,
    model
  } satisfies RequestedText
})

/** Returns a recording with its detected format. `field` names it in errors. */
const recordingOf = Effect.fnUntraced(function* (
  field: string,
  audio: Uint8Array,
  filename: string | undefined,
  { language, model, prompt }: SttFormFields
): Effect.fn.Return<RequestedRecording, BodyTooLarge | PluginInputInvalid> {
  if (audio.length > maximumAudioBytes) return yield* new BodyTooLarge({ limit: maximumAudioBytes })
  const kind = yield* Effect.mapError(validateRecording({ audio, language, prompt }), (invalid) =>
    invalid.field === "audio" ? new PluginInputInvalid({ field, reason: invalid.reason }) : invalid
  )
  return {
    audio,
    contentType: kind.contentType,
    filename: makeAudioFilename(filename, kind),
    language,
    prompt,
    model
  }
})

const readRecordingForm = Effect.fnUntraced(function* ({ fields, files }: MultipartForm) {
  const options = yield* readSttForm(Object.fromEntries([...fields].filter(([, value]) => value !== "")))
  const file = files.get("file")
  if (file === undefined) return yield* new PluginInputInvalid({ field: "file", reason: "must be a file" })
  return yield* recordingOf("file", file.bytes, file.filename, options)
})

const readRecordingJson = (value: unknown) =>
  Effect.flatMap(readStt(value), (fields) => recordingOf("audio", fields.audio, fields.filename, fields))

/** Reads a speech request. tts: JSON. stt: JSON with base64, or a form. */
export const readSpeechRequest = (
  plugin: "tts" | "stt",
  content: CallContent
): Effect.Effect<SpeechRequest, SpeechRequestFailure> => {
  if (plugin === "stt")
    return Effect.map(
      content._tag === "Form" ? readRecordingForm(content.form) : readRecordingJson(content.value),
      (recording) => ({ plugin, recording })
    )
  if (content._tag === "Form") return new MediaTypeUnsupported({ supported: ["application/json"] })
  return Effect.map(readSpoken(content.value), (spoken) => ({ plugin, spoken }))
}
