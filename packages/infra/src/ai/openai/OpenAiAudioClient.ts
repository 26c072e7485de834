import type { RecordedAudio } from "@berth/domain/gateway/speech/SpeechProviders"
import type { HttpClient } from "@effect/platform"
import { Effect, Option, type Redacted, Schema } from "effect"
import { optionalNullable } from "../vendor/OptionalField.ts"
import {
  makeVendorClient,
  readAllText,
  readMediaType,
  toUnexpectedMediaType,
  readAllBytes
} from "../vendor/VendorClient.ts"
import { VendorAnswerMalformed, type VendorFailure } from "../vendor/VendorErrors.ts"
import { OpenAiErrorBody } from "./OpenAiBodies.ts"
import { readOpenAiError, readOpenAiErrorBody } from "./OpenAiErrorReader.ts"

/** The body of POST /audio/speech. */
export interface OpenAiSpeechBody {
  readonly model: string
  readonly input: string
  readonly voice: string
  readonly response_format: string
  readonly speed?: number
}

/** An answer's media type, null where it says no more than that it is bytes. */
export interface SpeechAudio {
  readonly audio: Uint8Array
  readonly contentType: string | null
}

const Transcription = Schema.parseJson(
  Schema.Struct({
    text: Schema.String,
    // Only where a model is billed by length (OpenAI's whisper), or its price is told (OpenRouter).
    usage: optionalNullable(
      Schema.Struct({ seconds: optionalNullable(Schema.Number), cost: optionalNullable(Schema.Number) })
    )
  })
)
export type Transcription = typeof Transcription.Type

export interface OpenAiAudioClient {
  /** POST /audio/speech. */
  readonly speech: (body: OpenAiSpeechBody) => Effect.Effect<SpeechAudio, VendorFailure>
  /** POST /audio/transcriptions. */
  readonly transcription: (model: string, sound: RecordedAudio) => Effect.Effect<Transcription, VendorFailure>
}

/** A text of the greatest length, four times slower than usual, in the largest format, fits. */
const largestSpeech = 16 * 1024 * 1024
/** What is said in a recording of the greatest size that there is. */
const largestTranscript = 4 * 1024 * 1024

/** A form with a file as it goes over the wire, with the media type that names its boundary. */
const formOf = (model: string, { audio, contentType, filename, language, prompt }: RecordedAudio) =>
  Effect.promise(async () => {
    const form = new FormData()
    // The fields come first: who reads a form as it comes knows then what the file is for.
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

const readTranscription = (text: string): Effect.Effect<Transcription, VendorFailure> =>
  Option.match(Schema.decodeUnknownOption(Transcription)(text), {
    onSome: Effect.succeed,
    onNone: () =>
      Option.match(Schema.decodeUnknownOption(OpenAiErrorBody)(text), {
        onSome: ({ error }) => Effect.fail(readOpenAiError(error, null, undefined)),
        onNone: () => Effect.fail(new VendorAnswerMalformed({ reason: "a transcript that cannot be read" }))
      })
  })

/** The wire of sound that OpenAI, OpenRouter and Groq speak, in their words. */
export const makeOpenAiAudioClient = (options: {
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
}): Effect.Effect<OpenAiAudioClient, never, HttpClient.HttpClient> =>
  Effect.map(
    makeVendorClient({ ...options, keyHeader: "authorization", readError: readOpenAiErrorBody }),
    ({ send }): OpenAiAudioClient => ({
      speech: (body) =>
        Effect.gen(function* () {
          const answer = yield* send("/audio/speech", {
            contentType: "application/json",
            accept: "audio/*, application/octet-stream",
            body: JSON.stringify(body)
          })
          const type = readMediaType(answer)
          if (!type.startsWith("audio/") && type !== "application/octet-stream")
            return yield* toUnexpectedMediaType(answer)
          const audio = yield* readAllBytes(answer.bytes, largestSpeech)
          if (audio.length === 0) return yield* new VendorAnswerMalformed({ reason: "speech without a sound" })
          return { audio, contentType: type.startsWith("audio/") ? type : null }
        }).pipe(Effect.scoped),
      transcription: (model, sound) =>
        Effect.gen(function* () {
          const form = yield* formOf(model, sound)
          const answer = yield* send("/audio/transcriptions", { ...form, accept: "application/json" })
          if (readMediaType(answer) !== "application/json") return yield* toUnexpectedMediaType(answer)
          return yield* Effect.flatMap(readAllText(answer.bytes, largestTranscript), readTranscription)
        }).pipe(Effect.scoped)
    })
  )
