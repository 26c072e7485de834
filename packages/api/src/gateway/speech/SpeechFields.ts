import { decodeAudioText } from "@berth/domain/gateway/speech/AudioText"
import {
  maximumSpeechSpeed,
  isLanguageCode,
  isSpeechLength,
  maximumTranscriptionPromptLength,
  maximumSpeechTextLength,
  minimumSpeechSpeed
} from "@berth/domain/gateway/speech/SpeechLimits"
import { Either, Option, ParseResult, Schema } from "effect"
import { ModelName, namesFirstItem, optionalText, payload } from "../../http/Payload.ts"

/** OpenAI's voices. */
const Voice = Schema.Literal(
  "alloy",
  "ash",
  "ballad",
  "coral",
  "echo",
  "fable",
  "nova",
  "onyx",
  "sage",
  "shimmer",
  "verse"
).annotations({ identifier: "Voice" })

/** Audio formats; opus is in Ogg, pcm is 16-bit samples without a header. */
const SpeechFormat = Schema.Literal("mp3", "opus", "aac", "flac", "wav", "pcm").annotations({
  identifier: "SpeechFormat"
})

const isText = (text: string) => text.trim() !== "" && isSpeechLength(text)

const SpeechText = Schema.String.pipe(
  Schema.filter(isText, { message: () => `must have 1 to ${maximumSpeechTextLength} characters` })
).annotations({ jsonSchema: { minLength: 1, maxLength: maximumSpeechTextLength } })

const absentOr = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })

/** Requires exactly one of the fields; the first one is named if none is there, else the second one. */
const exactlyOne = (fields: ReadonlyArray<readonly [name: string, value: unknown]>) => {
  const [first, second] = fields.filter(([, value]) => value !== undefined)
  if (first === undefined) return fields.slice(0, 1).map(([name]) => ({ path: [name], message: "is missing" }))
  return second === undefined ? [] : [{ path: [second[0]], message: `is ${first[0]} once more` }]
}

/** The messages that every plugin accepts; the last one is spoken. */
const SpokenMessages = Schema.NonEmptyArray(
  Schema.Struct({ role: Schema.Literal("user", "assistant", "system"), content: SpeechText })
)

/** `input` and `response_format` are OpenAI's names for `text` and `format`. Speech is not streamed as events. */
export const TtsFields = payload({
  text: absentOr(SpeechText),
  input: absentOr(SpeechText),
  messages: absentOr(SpokenMessages.annotations(namesFirstItem)),
  voice: absentOr(Voice),
  format: absentOr(SpeechFormat),
  response_format: absentOr(SpeechFormat),
  stream_format: absentOr(Schema.Literal("audio")),
  speed: absentOr(
    Schema.Number.pipe(
      Schema.filter((speed) => speed >= minimumSpeechSpeed && speed <= maximumSpeechSpeed, {
        message: () => `must be between ${minimumSpeechSpeed} and ${maximumSpeechSpeed}`
      })
    ).annotations({ jsonSchema: { minimum: minimumSpeechSpeed, maximum: maximumSpeechSpeed } })
  ),
  model: absentOr(ModelName)
}).pipe(Schema.filter(({ input, messages, text }) => exactlyOne(Object.entries({ text, input, messages }))))
export type TtsFields = typeof TtsFields.Type

/** Decodes bytes as base64, plain or as a `data:` URL. Errors do not quote the value. */
const AudioText = Schema.transformOrFail(
  Schema.String.annotations({ message: () => "must be base64" }),
  Schema.Uint8ArrayFromSelf,
  {
    strict: true,
    decode: (text, _, ast) =>
      Either.mapLeft(decodeAudioText(text), (reason) => new ParseResult.Type(ast, undefined, reason)),
    encode: (bytes) => ParseResult.succeed(Buffer.from(bytes).toString("base64"))
  }
).annotations({ identifier: "AudioText" })

const Language = Schema.String.pipe(
  Schema.filter(isLanguageCode, { message: () => "must be a language's ISO 639 code, for example en" })
)

const Prompt = Schema.String.pipe(
  Schema.filter((prompt) => prompt.length <= maximumTranscriptionPromptLength, {
    message: () => `must have at most ${maximumTranscriptionPromptLength} characters`
  })
)

const aboutRecording = {
  language: absentOr(Language),
  prompt: absentOr(Prompt),
  model: absentOr(ModelName)
}

/** A recording in JSON. `mimeType` and `filename` are hints; the bytes determine the format. */
export const SttFields = payload({
  audio: AudioText,
  mimeType: optionalText,
  filename: optionalText,
  ...aboutRecording
})
export type SttFields = typeof SttFields.Type

/** Fields of a form, without the file. Empty fields count as absent, since HTML forms send them. */
export const SttFormFields = payload(aboutRecording)
export type SttFormFields = typeof SttFormFields.Type

/** Returns the text to speak, which decoded fields always have. */
export const readSpeechText = ({ input, messages, text }: TtsFields): string =>
  Option.getOrElse(Option.fromNullable(text ?? input ?? messages?.at(-1)?.content), () => "")
