import { Context, Option } from "effect"
import { roundUpUnits } from "../../billing/units/UnitSplit.ts"
import { noUnits, noUsdMicros, Units, unitsPerCredit, UsdMicros } from "../../shared/Money.ts"

/** Prices of turns, configured by the operator. */
export class TurnSettings extends Context.Tag("@berth/TurnSettings")<
  TurnSettings,
  {
    /** Factor on the cost of a call at its provider. */
    readonly priceMargin: number
    /** Maximum price of a turn in US dollars. */
    readonly budgetUsd: number
  }
>() {}

/** Model calls of a turn so far. Costs are the provider's, without margin. */
export interface TurnUsage {
  readonly ownCalls: number
  readonly platformCalls: number
  readonly openCalls: number
  /** Cost of completed calls and of the prompts of calls in progress. */
  readonly costMicros: UsdMicros
  /** Upper bound of the answers of calls in progress. */
  readonly heldMicros: UsdMicros
}

export const unusedTurn: TurnUsage = {
  ownCalls: 0,
  platformCalls: 0,
  openCalls: 0,
  costMicros: noUsdMicros,
  heldMicros: noUsdMicros
}

/** A model call before it is sent. Prices are US dollars per million tokens, equal to micros per token. */
interface CallEstimate {
  readonly promptTokens: number
  readonly maxTokens: number
  readonly inputCost: number
  readonly outputCost: number
}

/** A call within the turn's limit: limit and upper bounds of its answer. */
export interface BoundedCall {
  readonly maxTokens: number
  readonly promptMicros: UsdMicros
  readonly answerMicros: UsdMicros
}

type TurnPrices = TurnSettings["Type"]

/** Units reserved with a message; model calls extend the reservation. */
export const messageUnits = Units(1)

const microsPerUnit = 1_000_000 / unitsPerCredit
/** Minimum answer of a call, unless the caller requests fewer tokens. */
export const minimumAnswerTokens = 64

// Removes binary rounding errors before rounding up.
const roundUp = (value: number): number => Math.ceil(Number(value.toFixed(6)))

const estimateMicros = ({ inputCost, maxTokens, outputCost, promptTokens }: CallEstimate) => ({
  promptMicros: UsdMicros(roundUp(promptTokens * inputCost)),
  answerMicros: UsdMicros(roundUp(maxTokens * outputCost))
})

export const findMaximumTurnUnits = ({ budgetUsd }: TurnPrices): Units =>
  Units(Math.max(1, roundUpUnits(Number((budgetUsd * unitsPerCredit).toFixed(6)))))

const convertToUnits = (prices: TurnPrices, micros: UsdMicros): Units =>
  Units(Math.min(findMaximumTurnUnits(prices), Math.max(1, roundUp((micros * prices.priceMargin) / microsPerUnit))))

/** Whether the turn had model calls and the owner's own keys paid for all of them. */
export const isPaidByOwnKeys = ({ ownCalls, platformCalls }: TurnUsage): boolean => ownCalls > 0 && platformCalls === 0

/** Returns the price of an answered turn in units; one unit without a model call. */
export const computeTurnUnits = (prices: TurnPrices, usage: TurnUsage): Units =>
  isPaidByOwnKeys(usage) ? noUnits : convertToUnits(prices, usage.costMicros)

/** Returns the price of a failed turn in units; zero if no model request was sent. */
export const computeFailedTurnUnits = (prices: TurnPrices, usage: TurnUsage): Units =>
  usage.platformCalls === 0 ? noUnits : convertToUnits(prices, usage.costMicros)

/**
 * Returns the units that a turn with a limit grants to other work: `wanted`, or half of the remainder after its own
 * calls. None if less remains.
 */
export const shareLimit = (
  prices: TurnPrices,
  usage: TurnUsage,
  unitLimit: Units,
  wanted: Units | undefined
): Option.Option<Units> => {
  const left = unitLimit - convertToUnits(prices, UsdMicros(usage.costMicros + usage.heldMicros))
  const units = wanted ?? Units(Math.ceil(left / 2))
  return units >= 1 && units <= left ? Option.some(units) : Option.none()
}

/** Returns the units that the turn must have reserved before the call is sent. */
export const computeCallUnits = (prices: TurnPrices, usage: TurnUsage, call: CallEstimate): Units => {
  const { answerMicros, promptMicros } = estimateMicros(call)
  return convertToUnits(prices, UsdMicros(usage.costMicros + usage.heldMicros + promptMicros + answerMicros))
}

/** Returns the provider's cost that `units` and the budget cover. */
export const findCostLimit = ({ budgetUsd, priceMargin }: TurnPrices, units: Units): UsdMicros => {
  const total = Math.min(units * microsPerUnit, budgetUsd * 1_000_000) / priceMargin
  return UsdMicros(Math.floor(Number(total.toFixed(6))))
}

/** Returns the upper bounds of a call with its maximum answer. */
export const boundWholeCall = (call: CallEstimate): BoundedCall => ({
  maxTokens: call.maxTokens,
  ...estimateMicros(call)
})

/** Limits a call's answer to the remainder of `units` and the budget; none if too little remains. */
export const boundCall = (
  prices: TurnPrices,
  usage: TurnUsage,
  call: CallEstimate,
  units: Units
): Option.Option<BoundedCall> => {
  const { answerMicros, promptMicros } = estimateMicros(call)
  if (promptMicros + answerMicros === 0) return Option.some({ maxTokens: call.maxTokens, promptMicros, answerMicros })
  const left = findCostLimit(prices, units) - usage.costMicros - usage.heldMicros - promptMicros
  if (left < 0) return Option.none()
  if (answerMicros <= left) return Option.some({ maxTokens: call.maxTokens, promptMicros, answerMicros })
  const maxTokens = Math.floor(left / call.outputCost)
  return maxTokens < minimumAnswerTokens
    ? Option.none()
    : Option.some({ maxTokens, promptMicros, answerMicros: UsdMicros(roundUp(maxTokens * call.outputCost)) })
}
