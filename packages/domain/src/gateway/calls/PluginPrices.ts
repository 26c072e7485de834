import { estimateRequestTokens } from "../../ai/prompt/TokenEstimate.ts"
import { findMaximumTurnUnits, type TurnSettings } from "../../interaction/turns/TurnPricing.ts"
import { Units, unitsPerCredit } from "../../shared/Money.ts"
import type { GatewaySettings } from "../GatewaySettings.ts"
import type { PluginInput, TextRequest } from "../PluginInput.ts"
import type { PluginId } from "../plugins/Plugin.ts"

export const tokensPerPrice = 4_000
/** Expected tokens of an answer without `max_tokens`. */
const defaultAnswerTokens = 1_000

/** Converts USD to units, rounded up, at least one. */
export const convertPriceToUnits = (usd: number): Units =>
  // Removes binary rounding errors first; else 0.07 USD would be 8 units.
  Units(Math.max(1, Math.ceil(Number((usd * unitsPerCredit).toFixed(9)))))

/** Returns the number of flat prices for these tokens, at least one. */
export const countPriceShares = (tokens: number): number => Math.max(1, Math.ceil(tokens / tokensPerPrice))

/** Usage of a call, reported or estimated. */
export interface CallUsage {
  /** Tokens of prompt and output if they determine the price, else null. */
  readonly tokens: number | null
  /** Cost at the provider in US dollars; null if only the flat price applies. */
  readonly costUsd: number | null
}

/** Returns the price of a call: the larger of the flat price and the cost with margin. */
export const computePrice = (
  { priceMargin, prices }: Pick<GatewaySettings["Type"], "priceMargin" | "prices">,
  plugin: PluginId,
  { costUsd, tokens }: CallUsage
): Units => {
  const flat = (tokens === null ? 1 : countPriceShares(tokens)) * convertPriceToUnits(prices[plugin])
  return Units(costUsd === null ? flat : Math.max(flat, convertPriceToUnits(costUsd * priceMargin)))
}

/** Returns the price of an answered task: the larger of the flat price and the cost with margin, within the turn's budget. */
export const computeTaskPrice = (
  settings: Pick<GatewaySettings["Type"], "priceMargin" | "prices">,
  budget: TurnSettings["Type"],
  costUsd: number
): Units => {
  const flat = computePrice(settings, "agent", { tokens: null, costUsd: null })
  return Units(
    Math.min(computePrice(settings, "agent", { tokens: null, costUsd }), Math.max(flat, findMaximumTurnUnits(budget)))
  )
}

/** Estimates the tokens of prompt and answer before the call. */
export const estimateExpectedTokens = (request: TextRequest): number =>
  estimateRequestTokens(request) + (request.options?.maxTokens ?? defaultAnswerTokens)

/** Sets an absent `maxTokens` to the remaining tokens that the flat price covers. */
const limitToPrice = (request: TextRequest): TextRequest => {
  const { options } = request
  if (options?.maxTokens !== undefined) return request
  const paidFor = countPriceShares(estimateExpectedTokens(request)) * tokensPerPrice
  return { ...request, options: { ...options, maxTokens: paidFor - estimateRequestTokens(request) } }
}

/** Bounds the answer of the input before it is sent to the plugin. */
export const limitInput = (input: PluginInput): PluginInput =>
  input.plugin === "generate-text" ? { ...input, request: limitToPrice(input.request) } : input
