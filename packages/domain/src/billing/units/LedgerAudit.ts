import { Context, type Effect } from "effect"

/**
 * Two figures that say the same and differ. `transaction`: its entries do not add up to zero. `credits`: the user's
 * credits are not what the ledger has for him without what is held. `day`: the units that a day counts as used are not
 * what was booked and is held of it.
 */
export interface LedgerDiscrepancy {
  readonly what: "transaction" | "credits" | "day"
  /** The transaction's id, or the user's; of a day, the user's and the date. */
  readonly id: string
  /** In units. */
  readonly stored: number
  readonly derived: number
}

/** Whether the books are right. It never repairs: what is wrong was made so by something that has to be found first. */
export class LedgerAudit extends Context.Tag("@berth/LedgerAudit")<
  LedgerAudit,
  {
    /** Everything that does not add up, as of moments in which nothing was half done. */
    readonly findDiscrepancies: Effect.Effect<ReadonlyArray<LedgerDiscrepancy>>
  }
>() {}
