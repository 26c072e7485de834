import { BillingHistory, describeUsage, type BillingHistoryEntry } from "@berth/domain/billing/history/BillingHistory"
import { convertUnitsToCredits, Currency, toMajorUnits } from "@berth/domain/shared/Money"
import { DateTime, Effect, Schema } from "effect"
import { decodeRows, decodeSingleRow } from "../Rows.ts"
import { MinorUnitsColumn, UnitsColumn } from "../shared/MoneyColumns.ts"
import { toStorableText } from "../StorableText.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import * as Repository from "../Repository.ts"

const Row = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("usage", "purchase", "grant", "refund", "subscription"),
  description: Schema.String,
  units: UnitsColumn,
  creditUnits: UnitsColumn,
  amount: Schema.NullOr(MinorUnitsColumn),
  currency: Schema.NullOr(Currency),
  createdAt: Schema.DateTimeUtcFromDate
})
const Total = Schema.Struct({ total: Schema.NumberFromString })

const SumRow = Schema.Struct({
  division: Schema.Literal("day", "agent", "model"),
  day: Schema.NullOr(Schema.String),
  agentId: Schema.NullOr(AgentId),
  name: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  units: UnitsColumn
})

const toEntry = ({ amount, creditUnits, description, ...row }: typeof Row.Type): BillingHistoryEntry => ({
  ...row,
  description: row.kind === "usage" ? describeUsage(description) : description,
  credits: convertUnitsToCredits(creditUnits),
  amount: amount === null ? null : toMajorUnits(amount)
})

export const layer = Repository.layer(BillingHistory, (sql) => {
  // The conditions equal those of the partial indexes. For each kind, a page reads at most as many rows as its end.
  const usage = (userId: string) => sql`
    from reservations
    where user_id = ${userId} and state = 'settled' and settled_daily_units + settled_credit_units > 0`
  const bookings = (userId: string) => sql`from purchases where user_id = ${userId} and booked_at is not null`
  const reversals = (userId: string) => sql`
    from purchases where user_id = ${userId} and booked_at is not null and reversed_at is not null`
  const grants = (userId: string) => sql`
    from ledger_entries
    where user_id = ${userId} and account = 'credits' and cause in ('credits-added', 'credits-adjusted')`

  const rows = (userId: string, limit: number, offset: number) => {
    const depth = limit + offset
    return sql`
      select * from (
        (
          select id, 'usage' as kind, cause as description, settled_daily_units + settled_credit_units as units,
            -settled_credit_units as credit_units, null::bigint as amount, null as currency, created_at
          ${usage(userId)}
          order by created_at desc, id desc limit ${depth}
        ) union all (
          select id, kind, description, 0, units, nullif(amount, 0), case when amount > 0 then currency end, booked_at
          ${bookings(userId)}
          order by booked_at desc, id desc limit ${depth}
        ) union all (
          select 'rfd_' || substr(id, 5), 'refund', description, 0, -reversed_units,
            nullif(-reversed_amount, 0), case when reversed_amount > 0 then currency end, reversed_at
          ${reversals(userId)}
          order by reversed_at desc, id desc limit ${depth}
        ) union all (
          select id, 'grant',
            case cause when 'credits-added' then 'Credits granted' else 'Credits adjusted by an administrator' end,
            0, units, null, null, created_at
          ${grants(userId)}
          order by created_at desc, id desc limit ${depth}
        )
      ) as history
      order by created_at desc, id desc limit ${limit} offset ${offset}`.pipe(decodeRows(Row))
  }

  const count = (userId: string) =>
    sql`
      select (select count(*) ${usage(userId)}) + (select count(*) ${bookings(userId)})
        + (select count(*) ${reversals(userId)}) + (select count(*) ${grants(userId)}) as total`.pipe(
      decodeSingleRow(Total)
    )

  /** Sums charges before the division, since a month can have 100,000. */
  const sums = (userId: string, days: number, now: Date) =>
    sql`
      with charges as materialized (
        select day, agent_id, model, sum(settled_daily_units + settled_credit_units) as units
        ${usage(userId)}
        and created_at >= (date_trunc('day', ${now}::timestamptz at time zone 'utc') - make_interval(days => ${days - 1}::integer))
          at time zone 'utc'
        group by day, agent_id, model
      )
      select case when grouping(charges.day) = 0 then 'day' when grouping(agents.id) = 0 then 'agent' else 'model' end
          as division,
        charges.day::text as day, agents.id as agent_id, agents.name, charges.model, sum(charges.units)::bigint as units
      from charges left join agents on agents.id = charges.agent_id and agents.owner_id = ${userId}
      group by grouping sets ((charges.day), (agents.id, agents.name), (charges.model))
      order by charges.day, units desc`.pipe(decodeRows(SumRow))

  return {
    sumUsage: (userId, days) =>
      Effect.gen(function* () {
        const now = DateTime.toDate(yield* DateTime.now)
        const totals = yield* sums(toStorableText(userId), days, now)
        return {
          days: totals.flatMap(({ day, units }) => (day === null ? [] : [{ day, units }])),
          agents: totals.flatMap(({ agentId, division, name, units }) =>
            division === "agent" ? [{ agentId, name, units }] : []
          ),
          models: totals.flatMap(({ division, model, units }) => (division === "model" ? [{ model, units }] : []))
        }
      }),
    list: (userId, { limit, offset }) =>
      Effect.gen(function* () {
        const owner = toStorableText(userId)
        const { total } = yield* count(owner)
        const page = yield* rows(owner, limit, offset)
        return { entries: page.map(toEntry), total }
      })
  }
})
