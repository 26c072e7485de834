import { Context, type Effect } from "effect"
import type { Credits } from "../../shared/Money.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Free credits, recorded in the ledger. */
export class CreditGrants extends Context.Tag("@berth/CreditGrants")<
  CreditGrants,
  {
    /** Joins the running transaction. */
    readonly grant: (userId: UserId, credits: Credits) => Effect.Effect<void>
  }
>() {}
