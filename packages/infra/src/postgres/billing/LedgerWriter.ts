import type { LedgerAccount } from "@berth/domain/billing/units/LedgerAudit"
import type { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { Units } from "@berth/domain/shared/Money"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { type Context, DateTime, Effect } from "effect"
import type { UserId } from "@berth/domain/shared/UserId"

interface LedgerMovement {
  /** Null for a deleted user, whose records contain `formerUser`. */
  readonly userId: UserId | null
  readonly formerUser?: string | null
  readonly from: LedgerAccount
  readonly to: LedgerAccount
  readonly units: Units
  readonly cause: string
  /** Shared by the movements of an event; default: a new one. */
  readonly transaction?: string
}

/**
 * Part of a statement that books all units of the reservations in `settled`, whose rows contain the ids of the ledger
 * entries.
 */
export const bookSettled = (sql: SqlClient) => sql`
  booked as (
    insert into ledger_entries (id, transaction_id, user_id, account, units, cause, created_at)
    select entry.id, held_by, payer_id, entry.account, entry.units, cause, at
    from settled cross join lateral (values
      (allowance_entry, 'allowance', -daily_units), (usage_entry, 'usage', daily_units),
      (credits_entry, 'credits', -credit_units), (credit_usage_entry, 'usage', credit_units)
    ) as entry (id, account, units)
    where entry.units <> 0
  )`

/** Writes a movement of units as two entries of double-entry bookkeeping, in the running transaction. */
export const makeLedgerWriter = (sql: SqlClient, ids: Context.Tag.Service<IdGenerator>) => ({
  move: (movement: LedgerMovement): Effect.Effect<void, SqlError> =>
    movement.units === 0
      ? Effect.void
      : Effect.gen(function* () {
          const createdAt = DateTime.toDate(yield* DateTime.now)
          const [debit, credit] = yield* Effect.all([ids.next("led"), ids.next("led")])
          const entry = {
            userId: movement.userId,
            formerUser: movement.formerUser ?? null,
            transactionId: movement.transaction ?? debit,
            cause: movement.cause,
            createdAt
          }
          yield* sql`insert into ledger_entries ${sql.insert([
            { ...entry, id: debit, account: movement.from, units: 0 - movement.units },
            { ...entry, id: credit, account: movement.to, units: movement.units }
          ])}`
        })
})
