import { Context, type Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import type { Budget, BudgetAgentNotFound, BudgetLimit } from "./Budget.ts"

/** The budgets of accounts. Reservations of units respect them. */
export class Budgets extends Context.Tag("@berth/Budgets")<
  Budgets,
  {
    /** Those of the account first; used units are of the current UTC day and month. */
    readonly list: (userId: UserId) => Effect.Effect<ReadonlyArray<Budget>>
    /** Replaces all. Binds every reservation that begins afterwards. */
    readonly replace: (userId: UserId, limits: ReadonlyArray<BudgetLimit>) => Effect.Effect<void, BudgetAgentNotFound>
  }
>() {}
