import { type LedgerDiscrepancy, LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import type { SqlError } from "@effect/sql/SqlError"
import { DateTime, Effect, Schema } from "effect"
import { decodeRows, decodeSingleRow } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import * as Repository from "../Repository.ts"

const Bounds = Schema.Struct({ last: Schema.NullOr(Schema.String), users: Schema.Int })
const Found = Schema.Struct({
  what: Schema.Literal("transaction", "credits", "day", "agent"),
  id: Schema.String,
  stored: UnitsColumn,
  derived: UnitsColumn
})

/** Users per statement. */
const batch = 200

export const layer = Repository.layer(LedgerAudit, (sql) => {
  const findBounds = (last: string) =>
    sql`
      select max(id) as last, count(*)::int as users
      from (select id from users where id > ${last} order by id limit ${batch}) as next`.pipe(decodeSingleRow(Bounds))

  const scope = (from: string, to: string) => sql`
    select users.id as user_id, users.credit_units as stored, coalesce(closed.closed_until, '-infinity') as closed_until,
      coalesce(closed.credit_units, 0) as closed_units
    from users left join ledger_checkpoints as closed on closed.user_id = users.id
    where users.id > ${from} and users.id <= ${to}`

  // One statement reads one snapshot, in which every committed transaction is complete.
  const compare = (from: string, to: string) =>
    sql`
      with scope as materialized (${scope(from, to)}), recent as materialized (
        select entries.user_id, account, units, transaction_id from scope
        join ledger_entries as entries on entries.user_id = scope.user_id and entries.created_at >= scope.closed_until
      ), used as (
        select user_id, day, unit_days.used from scope join unit_days using (user_id)
        where day >= (closed_until at time zone 'UTC')::date
      ), counted as (
        select user_id, day, agent_id, units from scope join agent_unit_days using (user_id)
        where day >= (closed_until at time zone 'UTC')::date
      ), reserved as materialized (
        select user_id, day, coalesce(agent_id, '') as agent_id,
          sum(case state when 'reserved' then daily_units else settled_daily_units end) as daily,
          sum(case state when 'reserved' then credit_units else settled_credit_units end) as credit
        from scope join reservations using (user_id)
        where state <> 'released' and day >= (closed_until at time zone 'UTC')::date group by 1, 2, 3
      ), reserved_days as (
        select user_id, day, sum(daily) as derived from reserved group by 1, 2
      ), balances as (
        select user_id, stored, closed_units
          + coalesce((select sum(units) from recent where recent.user_id = scope.user_id and account = 'credits'), 0)
          - coalesce((
              select sum(credit_units) from reservations
              where reservations.user_id = scope.user_id and state = 'reserved'
            ), 0) as derived
        from scope
      )
      select 'transaction' as what, transaction_id as id, sum(units)::text as stored, '0' as derived
      from recent group by transaction_id having sum(units) <> 0
      union all
      select 'credits', user_id, stored::text, derived::text from balances where stored <> derived
      union all
      select 'day', user_id || ' ' || day, coalesce(used, 0)::text, coalesce(derived, 0)::text
      from used full join reserved_days using (user_id, day)
      where coalesce(used, 0) <> coalesce(derived, 0)
      union all
      select 'agent', concat_ws(' ', user_id, day, nullif(agent_id, '')), coalesce(units, 0)::text,
        coalesce(daily + credit, 0)::text
      from counted full join reserved using (user_id, day, agent_id)
      where coalesce(units, 0) <> coalesce(daily + credit, 0)`.pipe(decodeRows(Found))

  const close = (from: string, to: string, until: Date) => sql`
    insert into ledger_checkpoints (user_id, closed_until, credit_units)
    select user_id, ${until}::timestamptz, closed_units + coalesce((
      select sum(units) from ledger_entries as entries
      where entries.user_id = scope.user_id and account = 'credits'
        and created_at >= closed_until and created_at < ${until}::timestamptz
    ), 0)
    from (${scope(from, to)}) as scope where closed_until < ${until}::timestamptz
    on conflict (user_id) do update
      set closed_until = excluded.closed_until, credit_units = excluded.credit_units
      where ledger_checkpoints.closed_until < excluded.closed_until`

  const auditFrom = Effect.fnUntraced(function* (
    last: string,
    until: Date
  ): Effect.fn.Return<ReadonlyArray<LedgerDiscrepancy>, SqlError> {
    const next = yield* findBounds(last)
    if (next.last === null) return []
    const discrepancies = yield* compare(last, next.last)
    if (discrepancies.length === 0) yield* close(last, next.last, until)
    return next.users < batch ? discrepancies : [...discrepancies, ...(yield* auditFrom(next.last, until))]
  })

  return {
    findDiscrepancies: Effect.gen(function* () {
      // Yesterday stays open, since a transaction that began then may commit later.
      const until = DateTime.subtract(DateTime.startOf(yield* DateTime.now, "day"), { days: 1 })
      return yield* auditFrom("", DateTime.toDate(until))
    }).pipe(Effect.orDie)
  }
})
