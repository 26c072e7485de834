import { Either, Option } from "effect"
import { PluginInputInvalid } from "../plugins/PluginRun.ts"
import type { Recording, SpeechInput } from "./Speech.ts"
import { audioContainers, type AudioKind, detectAudioKind } from "./AudioContainer.ts"

/** OpenAI's limits: characters of a text, bytes of a recording. */
export const maximumSpeechTextLength = 4_096
export const maximumAudioBytes = 25 * 1024 * 1024
export const maximumAudioMinutes = 60

/** Maximum characters; models use about the last 200 words. */
export const maximumTranscriptionPromptLength = 2_000

export const minimumSpeechSpeed = 0.25
export const maximumSpeechSpeed = 4

const invalid = (field: string, reason: string) => Either.left(new PluginInputInvalid({ field, reason }))

/** Counts characters, as the price does; the units bound the count. */
export const isSpeechLength = (text: string): boolean =>
  text.length <= 2 * maximumSpeechTextLength && [...text].length <= maximumSpeechTextLength

/** Rejects input that every provider rejects. */
export const validateSpeechInput = ({ speed, text }: SpeechInput): Either.Either<void, PluginInputInvalid> => {
  if (text.trim() === "") return invalid("text", "must not be empty")
  if (!isSpeechLength(text)) return invalid("text", `must have at most ${maximumSpeechTextLength} characters`)
  if (speed !== undefined && !(speed >= minimumSpeechSpeed && speed <= maximumSpeechSpeed)) {
    return invalid("speed", `must be between ${minimumSpeechSpeed} and ${maximumSpeechSpeed}`)
  }
  return Either.void
}

/** Returns the kind of a recording; fails if it is too long or not audio. */
export const validateRecording = ({
  audio,
  language,
  prompt
}: Pick<Recording, "audio" | "language" | "prompt">): Either.Either<AudioKind, PluginInputInvalid> => {
  if (audio.length === 0) return invalid("audio", "must not be empty")
  if (audio.length > maximumAudioBytes) return invalid("audio", `must have at most ${maximumAudioBytes} bytes`)
  if (language !== undefined && !isLanguageCode(language)) {
    return invalid("language", "must be a language's ISO 639 code, for example en")
  }
  if (prompt !== undefined && prompt.length > maximumTranscriptionPromptLength) {
    return invalid("prompt", `must have at most ${maximumTranscriptionPromptLength} characters`)
  }
  return Option.match(detectAudioKind(audio), {
    onNone: () => invalid("audio", `must be sound, as ${audioContainers}`),
    onSome: Either.right
  })
}

export const isLanguageCode = (text: string): boolean => /^[a-z]{2,3}(-[a-z]{2,4})?$/i.test(text)

/** Returns a safe file name with the detected extension. */
export const makeAudioFilename = (filename: string | undefined, { container }: AudioKind): string => {
  const base = (filename ?? "").split(/[/\\]/).at(-1) ?? ""
  const name = base
    .replace(/\.[^.]*$/, "")
    .replace(/[^\p{L}\p{N} ._-]/gu, "")
    .slice(0, 100)
    .trim()
  return `${name === "" ? "audio" : name}.${container}`
}
