import type { RecordedAudio } from "@berth/domain/gateway/speech/SpeechProviders"
import { Effect, Option, Schema } from "effect"
import { type ChunkSource, makeSingleChunkSource, type StageOutput } from "../vendor/ChunkStage.ts"
import { optionalNullable } from "../vendor/VendorBodies.ts"
import {
  makeVendorClient,
  makeJsonBody,
  readMediaType,
  readWhole,
  readWholeText,
  toUnexpectedMediaType,
  type VendorAccess
} from "../vendor/VendorClient.ts"
import { VendorAnswerMalformed, type VendorFailure } from "../vendor/VendorErrors.ts"
import { OpenAiErrorBody } from "./OpenAiBodies.ts"
import { readOpenAiError, readOpenAiErrorBody } from "./OpenAiErrors.ts"

/** Body of POST /audio/speech. */
interface OpenAiSpeechBody {
  readonly model: string
  readonly input: string
  readonly voice: string
  readonly response_format: string
  readonly speed?: number
}

interface SpeechAudio {
  readonly audio: Uint8Array
  /** Null for application/octet-stream. */
  readonly contentType: string | null
}

const Transcription = Schema.parseJson(
  Schema.Struct({
    text: Schema.String,
    // `seconds`: models billed by duration. `cost`: OpenRouter only.
    usage: optionalNullable(
      Schema.Struct({ seconds: optionalNullable(Schema.Number), cost: optionalNullable(Schema.Number) })
    )
  })
)
type Transcription = typeof Transcription.Type

/** Sufficient for the longest text at the lowest speed in compressed formats. */
const largestSpeech = 16 * 1024 * 1024
const largestTranscript = 4 * 1024 * 1024

const formOf = (model: string, { audio, contentType, filename, language, prompt }: RecordedAudio) =>
  Effect.promise(async () => {
    const form = new FormData()
    // Fields precede the file, for servers that parse forms as they arrive.
    form.append("model", model)
    form.append("response_format", "json")
    if (language !== undefined) form.append("language", language)
    if (prompt !== undefined) form.append("prompt", prompt)
    form.append("file", new Blob([new Uint8Array(audio)], { type: contentType }), filename)
    const encoded = new Response(form)
    return {
      contentType: encoded.headers.get("content-type") ?? "multipart/form-data",
      body: new Uint8Array(await encoded.arrayBuffer())
    }
  })

const readTranscription = (text: string): StageOutput<Transcription, VendorFailure> =>
  Option.match(Schema.decodeUnknownOption(Transcription)(text), {
    onSome: (transcription) => ({ values: [transcription] }),
    onNone: () => ({
      values: [],
      failure: Option.match(Schema.decodeUnknownOption(OpenAiErrorBody)(text), {
        onSome: ({ error }) => readOpenAiError(error, null, undefined),
        onNone: () => new VendorAnswerMalformed({ reason: "malformed transcript" })
      })
    })
  })

const readAudio =
  (contentType: string | null) =>
  (audio: Buffer): StageOutput<SpeechAudio, VendorFailure> =>
    audio.length === 0
      ? { values: [], failure: new VendorAnswerMalformed({ reason: "empty audio" }) }
      : { values: [{ audio, contentType }] }

const failWith = (failure: VendorFailure) => makeSingleChunkSource<never, VendorFailure>([], failure)

/** The audio API of OpenAI, OpenRouter and Groq. */
export const makeOpenAiAudioClient = (access: VendorAccess) => {
  const { send } = makeVendorClient({ ...access, keyHeader: "authorization", readError: readOpenAiErrorBody })
  return {
    /** POST /audio/speech. */
    speech: (body: OpenAiSpeechBody) =>
      send(
        "/audio/speech",
        { ...makeJsonBody(body), accept: "audio/*, application/octet-stream" },
        (answer): ChunkSource<SpeechAudio, VendorFailure> => {
          const type = readMediaType(answer)
          const isAudio = type.startsWith("audio/")
          return isAudio || type === "application/octet-stream"
            ? readWhole(answer.bytes, readAudio(isAudio ? type : null), largestSpeech)
            : failWith(toUnexpectedMediaType(answer))
        }
      ),
    /** POST /audio/transcriptions. */
    transcription: (model: string, sound: RecordedAudio) =>
      Effect.flatMap(formOf(model, sound), (form) =>
        send(
          "/audio/transcriptions",
          { ...form, accept: "application/json" },
          (answer): ChunkSource<Transcription, VendorFailure> =>
            readMediaType(answer) === "application/json"
              ? readWholeText(answer.bytes, readTranscription, largestTranscript)
              : failWith(toUnexpectedMediaType(answer))
        )
      )
  }
}
