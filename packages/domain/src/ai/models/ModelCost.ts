import { Either } from "effect"
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
