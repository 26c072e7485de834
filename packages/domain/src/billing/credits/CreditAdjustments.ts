import { Context, Data, type Effect } from "effect"
import type { Credits } from "../../shared/Money.ts"
import type { UserId } from "../../shared/UserId.ts"

/** The balance does not cover the deduction. */
export class CreditsInsufficient extends Data.TaggedError("CreditsInsufficient")<{ readonly balance: Credits }> {}

/** Credits given or taken by an administrator, recorded in the ledger with a cause of their own. */
export class CreditAdjustments extends Context.Tag("@berth/CreditAdjustments")<
  CreditAdjustments,
  {
    /** A negative amount takes credits, at most the balance without reserved ones. Joins the running transaction, which holds the user. */
    readonly adjust: (userId: UserId, amount: Credits) => Effect.Effect<void, CreditsInsufficient>
  }
>() {}
