import { Option } from "effect"

/** The price of a speech or embedding model in US dollars: per million characters or tokens, or per minute. */
interface MediaPrice {
  readonly kind: "tts" | "stt" | "embedding"
  readonly unit: "million-characters" | "minute" | "million-tokens"
  readonly usd: number
}

const tts = (usd: number): MediaPrice => ({ kind: "tts", unit: "million-characters", usd })
const stt = (usd: number): MediaPrice => ({ kind: "stt", unit: "minute", usd })
const embedding = (usd: number): MediaPrice => ({ kind: "embedding", unit: "million-tokens", usd })

const hourOfAudio = (usd: number) => stt(usd / 60)

/**
 * List prices by model id. Models without a price are not sold. Models priced by audio tokens alone (gpt-4o-mini-tts)
 * have none.
 */
const mediaPrices: ReadonlyMap<string, MediaPrice> = new Map([
  // openai.com/api/pricing and platform.openai.com/docs/pricing; gpt-4o transcription: the page's estimate per minute.
  ["openai/tts-1", tts(15)],
  ["openai/tts-1-hd", tts(30)],
  ["openai/whisper-1", stt(0.006)],
  ["openai/gpt-4o-transcribe", stt(0.006)],
  ["openai/gpt-4o-mini-transcribe", stt(0.003)],
  ["openai/text-embedding-3-small", embedding(0.02)],
  ["openai/text-embedding-3-large", embedding(0.13)],
  ["openai/text-embedding-ada-002", embedding(0.1)],
  // console.groq.com/docs/model/whisper-large-v3 and whisper-large-v3-turbo: per hour of audio.
  ["groq/whisper-large-v3", hourOfAudio(0.111)],
  ["groq/whisper-large-v3-turbo", hourOfAudio(0.04)],
  // ai.google.dev/gemini-api/docs/pricing
  ["google/gemini-embedding-001", embedding(0.15)]
])

/** Lists the ids of the vendor's models with a price of that kind. */
export const listMediaModels = (vendor: string, kind: MediaPrice["kind"]): ReadonlyArray<string> =>
  [...mediaPrices].flatMap(([id, price]) => (price.kind === kind && id.startsWith(`${vendor}/`) ? [id] : []))

export const hasMediaPrice = (modelId: string): boolean => mediaPrices.has(modelId)

/**
 * Returns the list cost of characters, minutes or tokens in US dollars; none for a model without a price of that kind.
 */
export const computeMediaCost = (modelId: string, kind: MediaPrice["kind"], quantity: number): Option.Option<number> =>
  Option.fromNullable(mediaPrices.get(modelId)).pipe(
    Option.filter((price) => price.kind === kind),
    Option.map(({ unit, usd }) => Math.max(0, (usd * quantity) / (unit === "minute" ? 1 : 1_000_000)))
  )

/** Returns the cost of a spoken text in US dollars; 0 without a price. */
export const computeSpeechCost = (modelId: string, text: string): number =>
  Option.getOrElse(computeMediaCost(modelId, "tts", [...text].length), () => 0)

/**
 * Returns the cost of a transcript in US dollars: as reported by the provider, else by duration; 0 without a price or a
 * duration.
 */
export const computeTranscriptionCost = (
  modelId: string,
  { costUsd, seconds }: { readonly costUsd: number | null; readonly seconds: number | null }
): number => costUsd ?? Option.getOrElse(computeMediaCost(modelId, "stt", (seconds ?? 0) / 60), () => 0)
