import { Context, type Effect } from "effect"
import type { Units } from "../../shared/Money.ts"

/** `allowance`: daily units. `grants` and `purchases`: sources of credits, without and with payment. */
export type LedgerAccount = "allowance" | "credits" | "usage" | "grants" | "purchases"

/**
 * `transaction`: entries that do not sum to zero. `credits`: a balance that differs from entries minus open
 * reservations. `day`: used units that differ from settled plus reserved units. `agent`: counted units of an agent and
 * day that differ from its reservations.
 */
export interface LedgerDiscrepancy {
  readonly what: "transaction" | "credits" | "day" | "agent"
  /** Transaction id, user id, user id and date, or user id, date and agent id. */
  readonly id: string
  readonly stored: Units
  readonly derived: Units
}

/**
 * Compares balances with the ledger. Entries of closed days are summed once, into checkpoints. Repairs nothing, since
 * the cause of a difference must be found first.
 */
export class LedgerAudit extends Context.Tag("@berth/LedgerAudit")<
  LedgerAudit,
  {
    readonly findDiscrepancies: Effect.Effect<ReadonlyArray<LedgerDiscrepancy>>
  }
>() {}
