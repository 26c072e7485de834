import { Context } from "effect"
import { estimatePromptTokens, estimateTokens } from "../../ai/prompt/TokenEstimate.ts"
import type { PluginId } from "../plugins/Plugin.ts"
import type { PluginInput, TextRequest } from "../PluginInput.ts"

/** What a call of each plugin costs, in US dollars; of generate-text, each started `tokensOfPrice` tokens of it. */
export class PluginPrices extends Context.Tag("@berth/PluginPrices")<
  PluginPrices,
  Readonly<Record<PluginId, number>>
>() {}

/** One unit is 0.01 USD. */
const unitsOfDollar = 100
export const tokensPerPrice = 4_000
/** Room for an answer whose length nobody limited. */
const usualAnswer = 1_000

/** A price as units; what is less than a unit costs a unit. */
export const convertPriceToUnits = (usd: number): number =>
  // Away from the noise of binary fractions first: 0.07 is a little more than 7 units.
  Math.max(1, Math.ceil(Number((usd * unitsOfDollar).toFixed(4))))

/** How often the price is due for so many tokens; every call takes some. */
export const countPriceShares = (tokens: number): number => Math.max(1, Math.ceil(tokens / tokensPerPrice))

/** About how many tokens are sent to the model: what is said, and the form that the answer is to have. */
const promptTokens = ({ messages, options }: TextRequest): number =>
  estimatePromptTokens(messages) +
  (options?.responseFormat === undefined ? 0 : estimateTokens(JSON.stringify(options.responseFormat)))

/** About how many tokens a text will take, prompt and answer, from the request alone. */
export const estimateExpectedTokens = (request: TextRequest): number =>
  promptTokens(request) + (request.options?.maxTokens ?? usualAnswer)

/** How often the price of its plugin is due for a call, as far as the request tells. */
export const countInputShares = (input: PluginInput): number =>
  input.plugin === "generate-text" ? countPriceShares(estimateExpectedTokens(input.request)) : 1

/**
 * The request with its answer held to what it is charged for: without a limit of its own it may be as long as what is left
 * of the started tokens.
 */
export const limitToPrice = (request: TextRequest): TextRequest => {
  const { options } = request
  if (options?.maxTokens !== undefined) return request
  const paidFor = countPriceShares(estimateExpectedTokens(request)) * tokensPerPrice
  return { ...request, options: { ...options, maxTokens: paidFor - promptTokens(request) } }
}

/** About how many tokens were taken of an answer that nobody read to its end. */
export const estimateTokensSoFar = (request: TextRequest, text: string): number =>
  promptTokens(request) + estimateTokens(text)
