import { estimatePromptTokens, estimateTokens } from "../../ai/prompt/TokenEstimate.ts"
import type { PluginInput, TextRequest } from "../PluginInput.ts"

/** One unit is 0.01 USD. */
const unitsPerUsd = 100
export const tokensPerPrice = 4_000
/** Expected tokens of an answer without `max_tokens`. */
const defaultAnswerTokens = 1_000

/** Converts USD to units, rounded up, at least one. */
export const convertPriceToUnits = (usd: number): number =>
  // Rounds off binary fractions first: 0.07 USD would be 8 units.
  Math.max(1, Math.ceil(Number((usd * unitsPerUsd).toFixed(4))))

/** Flat prices due for so many tokens, at least one. */
export const countPriceShares = (tokens: number): number => Math.max(1, Math.ceil(tokens / tokensPerPrice))

/** Estimates the tokens of the messages and of the response format. */
const estimateRequestTokens = ({ messages, options }: TextRequest): number =>
  estimatePromptTokens(messages) +
  (options?.responseFormat === undefined ? 0 : estimateTokens(JSON.stringify(options.responseFormat)))

/** Estimates the tokens of prompt and answer before the call. */
export const estimateExpectedTokens = (request: TextRequest): number =>
  estimateRequestTokens(request) + (request.options?.maxTokens ?? defaultAnswerTokens)

/** Flat prices due for a call, as far as the request tells. */
export const countInputShares = (input: PluginInput): number =>
  input.plugin === "generate-text" ? countPriceShares(estimateExpectedTokens(input.request)) : 1

/** Sets `maxTokens`, unless it is set, to the rest of the started tokens that the call is charged for. */
export const limitToPrice = (request: TextRequest): TextRequest => {
  const { options } = request
  if (options?.maxTokens !== undefined) return request
  const paidFor = countPriceShares(estimateExpectedTokens(request)) * tokensPerPrice
  return { ...request, options: { ...options, maxTokens: paidFor - estimateRequestTokens(request) } }
}

/** Estimates the tokens of prompt and output of an answer that was not read to its end. */
export const estimateTokensSoFar = (request: TextRequest, text: string): number =>
  estimateRequestTokens(request) + estimateTokens(text)
