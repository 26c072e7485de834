import { Data, DateTime, Option, Schema } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import { Units } from "../../shared/Money.ts"

/** UTC days and calendar months. */
export const BudgetPeriod = Schema.Literal("day", "month").annotations({ identifier: "BudgetPeriod" })
export type BudgetPeriod = typeof BudgetPeriod.Type

export const maximumBudgetLimit = 100_000_000
/** The used share of a budget from which the console warns its owner. */
export const budgetWarningShare = 0.8
/** Budgets of an account. */
export const maximumBudgets = 200

/** A limit that an owner sets on the units of a period. */
export interface BudgetLimit {
  /** Null for the whole account. */
  readonly agentId: AgentId | null
  readonly period: BudgetPeriod
  readonly units: Units
}

/** A limit with the units that count against it: booked ones, and those of open reservations. */
export interface Budget extends BudgetLimit {
  readonly usedUnits: Units
}

/** The budget has no room for `requiredUnits`. */
export class BudgetExceeded extends Data.TaggedError("BudgetExceeded")<{
  readonly budget: Budget
  readonly requiredUnits: Units
  readonly renewsAt: DateTime.Utc
}> {}

/** The account has no such agents. */
export class BudgetAgentNotFound extends Data.TaggedError("BudgetAgentNotFound")<{
  readonly agentIds: ReadonlyArray<AgentId>
}> {}

/** Never negative after a budget is lowered. */
export const computeRemainingUnits = ({ units, usedUnits }: Budget): Units => Units(Math.max(0, units - usedUnits))

/** The start of the next period. */
export const findRenewal = (period: BudgetPeriod, at: DateTime.Utc): DateTime.Utc =>
  DateTime.add(DateTime.startOf(at, period), period === "day" ? { days: 1 } : { months: 1 })

/** The units that all budgets have room for. */
export const computeRoom = (budgets: ReadonlyArray<Budget>): Units =>
  Units(Math.min(...budgets.map(computeRemainingUnits), Number.MAX_SAFE_INTEGER))

/** Of the budgets without room for the units, the one that renews last. */
export const findExceeded = (
  budgets: ReadonlyArray<Budget>,
  requiredUnits: Units,
  at: DateTime.Utc
): Option.Option<BudgetExceeded> => {
  const exceeded = budgets.filter((budget) => requiredUnits > computeRemainingUnits(budget))
  const last = exceeded.find(({ period }) => period === "month") ?? exceeded[0]
  return Option.map(
    Option.fromNullable(last),
    (budget) => new BudgetExceeded({ budget, requiredUnits, renewsAt: findRenewal(budget.period, at) })
  )
}
