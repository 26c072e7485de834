import { Context, Data, DateTime, type Effect, Option, Schema } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import { Units } from "../../shared/Money.ts"
import type { UserId } from "../../shared/UserId.ts"

/** UTC day or calendar month. */
export const BudgetPeriod = Schema.Literal("day", "month").annotations({ identifier: "BudgetPeriod" })
export type BudgetPeriod = typeof BudgetPeriod.Type

export const maximumBudgetLimit = 100_000_000
/** Used share of a budget from which the console warns the owner. */
export const budgetWarningShare = 0.8
/** Maximum budgets of an account. */
export const maximumBudgets = 200

export interface BudgetLimit {
  /** Null for the whole account. */
  readonly agentId: AgentId | null
  readonly period: BudgetPeriod
  readonly units: Units
}

/** A limit with the units that count against it: booked and reserved ones. */
export interface Budget extends BudgetLimit {
  readonly usedUnits: Units
}

/** The budget does not cover `requiredUnits`. */
export class BudgetExceeded extends Data.TaggedError("BudgetExceeded")<{
  readonly budget: Budget
  readonly requiredUnits: Units
  readonly renewsAt: DateTime.Utc
}> {}

export class BudgetAgentNotFound extends Data.TaggedError("BudgetAgentNotFound")<{
  readonly agentIds: ReadonlyArray<AgentId>
}> {}

/** Never negative, even after a budget is lowered. */
export const computeRemainingUnits = ({ units, usedUnits }: Budget): Units => Units(Math.max(0, units - usedUnits))

/** Returns the start of the next period. */
export const findRenewal = (period: BudgetPeriod, at: DateTime.Utc): DateTime.Utc =>
  DateTime.add(DateTime.startOf(at, period), period === "day" ? { days: 1 } : { months: 1 })

/** Returns the units that all budgets allow. */
export const computeRoom = (budgets: ReadonlyArray<Budget>): Units =>
  Units(Math.min(...budgets.map(computeRemainingUnits), Number.MAX_SAFE_INTEGER))

/** Returns the budget that renews last among those that do not cover the units. */
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

/** Budgets of accounts; enforced by reservations of units. */
export class Budgets extends Context.Tag("@berth/Budgets")<
  Budgets,
  {
    /** Budgets of the account first. Used units are those of the current UTC day or month. */
    readonly list: (userId: UserId) => Effect.Effect<ReadonlyArray<Budget>>
    /** Replaces all budgets; applies to reservations that begin afterwards. */
    readonly replace: (userId: UserId, limits: ReadonlyArray<BudgetLimit>) => Effect.Effect<void, BudgetAgentNotFound>
  }
>() {}
