import { Option } from "effect"
import { costOfMedia, findMediaPrice, mediaPrices } from "../../ai/models/MediaPrices.ts"
import { type SpeechModel, formatSpeechModelId } from "./SpeechModel.ts"

/** Whether a model is in the price list; callers may name any other. */
export const hasKnownPrice = (model: SpeechModel): boolean => mediaPrices.has(formatSpeechModelId(model))

const priceOf = (model: SpeechModel, kind: "tts" | "stt") => findMediaPrice(formatSpeechModelId(model), kind)

/** Returns the list cost of characters (tts) or started minutes (stt) in USD; none for an unlisted model. */
export const computeListCost = (model: SpeechModel, kind: "tts" | "stt", quantity: number): Option.Option<number> =>
  Option.map(priceOf(model, kind), (price) => costOfMedia(price, quantity) / 1_000_000)

/** The cost of a spoken text in USD; 0 without a price. */
export const computeSpeechCost = (model: SpeechModel, text: string): number =>
  Option.getOrElse(computeListCost(model, "tts", [...text].length), () => 0)

/** The cost of a transcript in USD: as its provider reports, else by duration; 0 without a price. */
export const computeTranscriptionCost = (
  model: SpeechModel,
  { costUsd, seconds }: { readonly costUsd: number | null; readonly seconds: number | null }
): number =>
  costUsd ??
  Option.match(priceOf(model, "stt"), {
    onNone: () => 0,
    onSome: ({ usd }) => (usd * (seconds ?? 0)) / 60
  })
