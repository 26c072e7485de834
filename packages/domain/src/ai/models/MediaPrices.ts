import { Option } from "effect"
import { UsdMicros } from "../../shared/Money.ts"

/** The price of a model of speech or embeddings in US dollars: per million characters or tokens, or per minute. */
export interface MediaPrice {
  readonly kind: "tts" | "stt" | "embedding"
  readonly unit: "million-characters" | "minute" | "million-tokens"
  readonly usd: number
}

const tts = (usd: number): MediaPrice => ({ kind: "tts", unit: "million-characters", usd })
const stt = (usd: number): MediaPrice => ({ kind: "stt", unit: "minute", usd })
const embedding = (usd: number): MediaPrice => ({ kind: "embedding", unit: "million-tokens", usd })

/** The vendors' list prices, by model id. A model that is not here has no price and cannot be sold. */
export const mediaPrices: ReadonlyMap<string, MediaPrice> = new Map([
  ["openai/tts-1", tts(15)],
  ["openai/tts-1-hd", tts(30)],
  ["openai/whisper-1", stt(0.006)],
  ["openai/gpt-4o-transcribe", stt(0.006)],
  ["openai/gpt-4o-mini-transcribe", stt(0.003)],
  ["groq/whisper-large-v3", stt(0.00185)],
  ["groq/whisper-large-v3-turbo", stt(0.00067)],
  ["openai/text-embedding-3-small", embedding(0.02)],
  ["openai/text-embedding-3-large", embedding(0.13)],
  ["openai/text-embedding-ada-002", embedding(0.1)],
  ["google/gemini-embedding-001", embedding(0.15)]
])

export const findMediaPrice = (modelId: string, kind: MediaPrice["kind"]): Option.Option<MediaPrice> =>
  Option.filter(Option.fromNullable(mediaPrices.get(modelId)), (price) => price.kind === kind)

/** The cost of characters, minutes or tokens, by the price's unit, rounded up. A started minute is a whole one. */
export const costOfMedia = ({ unit, usd }: MediaPrice, quantity: number): UsdMicros => {
  const micros = unit === "minute" ? usd * 1_000_000 * Math.ceil(quantity) : usd * quantity
  return UsdMicros.make(Math.ceil(Number(Math.max(0, micros).toFixed(6))))
}
