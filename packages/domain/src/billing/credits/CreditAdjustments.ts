import { Context, Data, type Effect } from "effect"
import type { Credits } from "../../shared/Money.ts"
import type { UserId } from "../../shared/UserId.ts"

export class CreditsInsufficient extends Data.TaggedError("CreditsInsufficient")<{ readonly balance: Credits }> {}

/** Credits adjusted by an administrator, recorded in the ledger with a separate cause. */
export class CreditAdjustments extends Context.Tag("@berth/CreditAdjustments")<
  CreditAdjustments,
  {
    /**
     * A negative amount removes credits, at most the balance without reserved credits. Joins the running transaction,
     * which holds the lock on the user.
     */
    readonly adjust: (userId: UserId, amount: Credits) => Effect.Effect<void, CreditsInsufficient>
  }
>() {}
