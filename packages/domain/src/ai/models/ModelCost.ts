import { Either } from "effect"
import { UsdMicros } from "../../shared/Money.ts"
import type { TokenUsage } from "../chat/ModelChat.ts"
import type { Model } from "./Model.ts"
import { TokenCountInvalid } from "./ModelErrors.ts"

export interface TokenCounts {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** The bound keeps costs finite. */
const isCount = (value: number) => value >= 0 && value <= Number.MAX_SAFE_INTEGER

export const estimateCost = (
  model: Pick<Model, "inputCost" | "outputCost">,
  counts: TokenCounts
): Either.Either<number, TokenCountInvalid> => {
  if (!isCount(counts.inputTokens)) return Either.left(new TokenCountInvalid({ field: "inputTokens" }))
  if (!isCount(counts.outputTokens)) return Either.left(new TokenCountInvalid({ field: "outputTokens" }))
  const cost = (counts.inputTokens * model.inputCost + counts.outputTokens * model.outputCost) / 1_000_000
  // Removes binary rounding errors.
  return Either.right(Number(cost.toFixed(12)))
}

/** Maximum tokens of an answer if the caller sets no limit. Reasoning counts toward the limit. */
export const defaultMaxTokens = 4_096
export const reasoningMaxTokens = 16_384

/**
 * Returns the limit sent to a provider: the caller's, or the default of at most a quarter of the context window. The
 * model's limit bounds both.
 */
export const findAnswerLimit = (
  { contextWindow, maxOutputTokens, tags }: Pick<Model, "contextWindow" | "maxOutputTokens" | "tags">,
  maxTokens: number | null | undefined
): number => {
  const usual = tags.includes("reasoning") ? reasoningMaxTokens : defaultMaxTokens
  const limit = maxTokens ?? Math.max(1, Math.min(usual, Math.floor(contextWindow / 4)))
  return Math.min(limit, maxOutputTokens ?? limit)
}

type TokenPrices = Pick<Model, "inputCost" | "outputCost">

/** Returns the cost of a call, rounded up. US dollars per million tokens equal micros per token. */
export const costOf = (
  model: TokenPrices,
  { completionTokens, promptTokens }: Pick<TokenUsage, "promptTokens" | "completionTokens">
): UsdMicros => {
  const micros = Math.max(0, promptTokens) * model.inputCost + Math.max(0, completionTokens) * model.outputCost
  // Removes binary rounding errors before rounding up.
  return UsdMicros(Math.ceil(Number(micros.toFixed(6))))
}

/** Returns the maximum cost of a call: its estimated prompt and an answer of `maxTokens` (`findAnswerLimit`). */
export const costUpperBound = (model: TokenPrices, promptTokens: number, maxTokens: number): UsdMicros =>
  costOf(model, { promptTokens, completionTokens: maxTokens })
