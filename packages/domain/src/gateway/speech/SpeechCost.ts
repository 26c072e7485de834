import { type SpeechModel, formatSpeechModelId } from "./SpeechModel.ts"

/** US dollars per million characters that are read aloud. */
const perMillionCharacters: ReadonlyMap<string, number> = new Map([
  ["openai/tts-1", 15],
  ["openai/tts-1-hd", 30]
])

/** US dollars per minute that is listened to. */
const perMinute: ReadonlyMap<string, number> = new Map([["openai/whisper-1", 0.006]])

/** Whether we know a model by its price; of others there are as many as callers think of. */
export const hasKnownPrice = (model: SpeechModel): boolean => {
  const id = formatSpeechModelId(model)
  return perMillionCharacters.has(id) || perMinute.has(id)
}

/** What reading a text aloud costs; 0 where the price is not known here. */
export const computeSpeechCost = (model: SpeechModel, text: string): number =>
  ((perMillionCharacters.get(formatSpeechModelId(model)) ?? 0) * [...text].length) / 1_000_000

/** What a transcript cost: as its provider says, else by its length; 0 where neither it nor the price is known. */
export const computeTranscriptionCost = (
  model: SpeechModel,
  { costUsd, seconds }: { readonly costUsd: number | null; readonly seconds: number | null }
): number => costUsd ?? ((perMinute.get(formatSpeechModelId(model)) ?? 0) * (seconds ?? 0)) / 60
