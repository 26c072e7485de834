import { Either, Option } from "effect"
import { PluginInputIsInvalid } from "../PluginRun.ts"
import type { Recording, SpokenText } from "../Speech.ts"
import { audioContainers, type AudioKind, sniffAudio } from "./AudioContainer.ts"

/** Characters of a text that is read aloud, and bytes of a recording: OpenAI's limits, which others share. */
export const longestText = 4_096
export const largestAudio = 25 * 1024 * 1024

/** Characters of what tells a transcriber how things are spelled; it reads the last 200 words or so. */
export const longestPrompt = 2_000

export const slowest = 0.25
export const fastest = 4

const invalid = (field: string, reason: string) => Either.left(new PluginInputIsInvalid({ field, reason }))

/** What every provider would refuse of a text, or charge for in vain. */
export const checkSpoken = ({ speed, text }: SpokenText): Either.Either<void, PluginInputIsInvalid> => {
  if (text.trim() === "") return invalid("text", "must not be empty")
  if (text.length > longestText) return invalid("text", `must have at most ${longestText} characters`)
  if (speed !== undefined && !(speed >= slowest && speed <= fastest)) {
    return invalid("speed", `must be between ${slowest} and ${fastest}`)
  }
  return Either.void
}

/** What a recording is; left where it is too long, or no sound. */
export const checkRecording = ({
  audio,
  language,
  prompt
}: Pick<Recording, "audio" | "language" | "prompt">): Either.Either<AudioKind, PluginInputIsInvalid> => {
  if (audio.length === 0) return invalid("audio", "must not be empty")
  if (audio.length > largestAudio) return invalid("audio", `must have at most ${largestAudio} bytes`)
  if (language !== undefined && !isLanguage(language)) {
    return invalid("language", "must be a language's ISO 639 code, for example en")
  }
  if (prompt !== undefined && prompt.length > longestPrompt) {
    return invalid("prompt", `must have at most ${longestPrompt} characters`)
  }
  return Option.match(sniffAudio(audio), {
    onNone: () => invalid("audio", `must be sound, as ${audioContainers}`),
    onSome: Either.right
  })
}

export const isLanguage = (text: string): boolean => /^[a-z]{2,3}(-[a-z]{2,4})?$/i.test(text)

/** The name that a provider gets: the caller's without its path and what could break a header, with the true extension. */
export const filenameOf = (given: string | undefined, { container }: AudioKind): string => {
  const base = (given ?? "").split(/[/\\]/).at(-1) ?? ""
  const name = base
    .replace(/\.[^.]*$/, "")
    .replace(/[^\p{L}\p{N} ._-]/gu, "")
    .slice(0, 100)
    .trim()
  return `${name === "" ? "audio" : name}.${container}`
}
