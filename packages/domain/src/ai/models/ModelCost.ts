import { Either } from "effect"
import { UsdMicros } from "../../shared/Money.ts"
import type { TokenUsage } from "../chat/ModelChat.ts"
import type { Model } from "./Model.ts"
import { TokenCountInvalid } from "./ModelErrors.ts"

export interface TokenCounts {
  readonly inputTokens: number
  readonly outputTokens: number
}

const isCount = (value: number) => Number.isFinite(value) && value >= 0

/** What a call costs in US dollars, to a trillionth: prices are per million tokens. */
export const estimateCost = (
  model: Pick<Model, "inputCost" | "outputCost">,
  counts: TokenCounts
): Either.Either<number, TokenCountInvalid> => {
  if (!isCount(counts.inputTokens)) return Either.left(new TokenCountInvalid({ field: "inputTokens" }))
  if (!isCount(counts.outputTokens)) return Either.left(new TokenCountInvalid({ field: "outputTokens" }))
  const cost = (counts.inputTokens * model.inputCost + counts.outputTokens * model.outputCost) / 1_000_000
  // Takes off what binary fractions add (three times 0.1), which no price goes down to.
  return Either.right(Number(cost.toFixed(12)))
}

/** Tokens of an answer whose length the caller did not limit; the provider is told this limit. */
export const defaultMaxTokens = 4_096

/** The limit that a provider is told: the caller's, else the default, but at most a quarter of the context window. */
export const findAnswerLimit = (model: Pick<Model, "contextWindow">, maxTokens: number | null | undefined): number =>
  maxTokens ?? Math.max(1, Math.min(defaultMaxTokens, Math.floor(model.contextWindow / 4)))

type TokenPrices = Pick<Model, "inputCost" | "outputCost">

/** The cost of a call, rounded up. US dollars per million tokens are micros per token. */
export const costOf = (
  model: TokenPrices,
  { completionTokens, promptTokens }: Pick<TokenUsage, "promptTokens" | "completionTokens">
): UsdMicros => {
  const micros = Math.max(0, promptTokens) * model.inputCost + Math.max(0, completionTokens) * model.outputCost
  // Takes off the noise of binary fractions before it rounds up.
  return UsdMicros.make(Math.ceil(Number(micros.toFixed(6))))
}

/** The most that a call can cost: its estimated prompt and an answer of `maxTokens` (`findAnswerLimit`). */
export const costUpperBound = (model: TokenPrices, promptTokens: number, maxTokens: number): UsdMicros =>
  costOf(model, { promptTokens, completionTokens: maxTokens })
