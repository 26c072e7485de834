import { Context, type Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import type { Budget, BudgetAgentNotFound, BudgetLimit } from "./Budget.ts"

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
