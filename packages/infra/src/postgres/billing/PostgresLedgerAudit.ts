import { type LedgerDiscrepancy, LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Layer, Schema } from "effect"
import { decodeRows, decodeSingleRow } from "../Rows.ts"

const Bounds = Schema.Struct({ last: Schema.NullOr(Schema.String), users: Schema.Int })
const Found = Schema.Struct({
  what: Schema.Literal("transaction", "credits", "day"),
  id: Schema.String,
  stored: Schema.NumberFromString,
  derived: Schema.NumberFromString
})

/** So few that a statement stays short, however many users there are. */
const batch = 200

const make = Effect.map(SqlClient, (sql) => {
  /** The next users in the order of their ids. */
  const after = (last: string) =>
    sql`
      select max(id) as last, count(*)::int as users
      from (select id from users where id > ${last} order by id limit ${batch}) as next`.pipe(decodeSingleRow(Bounds))

  /** One statement sees one moment: whatever is committed in it moved everything that it had to move. */
  const check = (from: string, to: string) =>
    sql`
      select 'transaction' as what, transaction_id as id, sum(units)::text as stored, '0' as derived
      from ledger_entries where user_id > ${from} and user_id <= ${to}
      group by transaction_id having sum(units) <> 0
      union all
      select 'credits', users.id, credit_units::text, (coalesce(booked.units, 0) - coalesce(held.units, 0))::text
      from users
      left join (
        select user_id, sum(units) as units from ledger_entries
        where account = 'credits' and user_id > ${from} and user_id <= ${to} group by user_id
      ) as booked on booked.user_id = users.id
      left join (
        select user_id, sum(credit_units) as units from reservations
        where state = 'reserved' and user_id > ${from} and user_id <= ${to} group by user_id
      ) as held on held.user_id = users.id
      where users.id > ${from} and users.id <= ${to}
        and credit_units <> coalesce(booked.units, 0) - coalesce(held.units, 0)
      union all
      select 'day', user_id || ' ' || day, coalesce(used, 0)::text, coalesce(derived, 0)::text
      from (select user_id, day, used from unit_days where user_id > ${from} and user_id <= ${to}) as days
      full join (
        select user_id, day, sum(case state when 'reserved' then daily_units else settled_daily_units end) as derived
        from reservations where user_id > ${from} and user_id <= ${to} group by user_id, day
      ) as reserved using (user_id, day)
      where coalesce(used, 0) <> coalesce(derived, 0)`.pipe(decodeRows(Found))

  const allFrom = (last: string): Effect.Effect<ReadonlyArray<LedgerDiscrepancy>, SqlError> =>
    Effect.gen(function* () {
      const next = yield* after(last)
      if (next.last === null) return []
      const found = yield* check(last, next.last)
      return next.users < batch ? found : [...found, ...(yield* allFrom(next.last))]
    })

  return LedgerAudit.of({
    findDiscrepancies: allFrom("").pipe(Effect.orDie, Effect.withSpan("LedgerAudit.findDiscrepancies"))
  })
})

export const layer: Layer.Layer<LedgerAudit, never, SqlClient> = Layer.effect(LedgerAudit, make)
