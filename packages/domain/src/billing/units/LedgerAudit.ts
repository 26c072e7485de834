import { Context, type Effect } from "effect"
import type { Units } from "../../shared/Money.ts"

/**
 * `transaction`: entries that do not sum to zero. `credits`: a balance other than entries minus open reservations. `day`: used
 * units other than settled plus reserved ones. `agent`: counted units of an agent and day other than those of its reservations.
 */
export interface LedgerDiscrepancy {
  readonly what: "transaction" | "credits" | "day" | "agent"
  /** Transaction id, user id, user id and date, or these and the agent. */
  readonly id: string
  readonly stored: Units
  readonly derived: Units
}

/** Compares balances with the ledger. Entries of closed days are summed once, into checkpoints. It repairs nothing: the cause of a difference has to be found first. */
export class LedgerAudit extends Context.Tag("@berth/LedgerAudit")<
  LedgerAudit,
  {
    readonly findDiscrepancies: Effect.Effect<ReadonlyArray<LedgerDiscrepancy>>
  }
>() {}
