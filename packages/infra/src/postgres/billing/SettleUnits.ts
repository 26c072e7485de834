import type { ReservationId } from "@berth/domain/billing/units/Reservation"
import { roundUpUnits } from "@berth/domain/billing/units/UnitSplit"
import type { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { noUnits, type Units } from "@berth/domain/shared/Money"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, DateTime, Effect, Metric, Option, Schema } from "effect"
import { preparedMark } from "../PreparedStatements.ts"
import { decodeFirstRow } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { toStorableText } from "../StorableText.ts"

const charged = Metric.counter("berth_units_charged_total", {
  description: "Units booked for work that was done",
  incremental: true
})

const ClosedRow = Schema.Struct({ units: UnitsColumn })

/** Closes reservations: books the used units and returns the rest. */
export const makeSettleUnits = (sql: SqlClient, ids: Context.Tag.Service<IdGenerator>) => {
  /** The split of `settleUnits` in one statement. False when the reservation is closed already. Lock order: days before users. */
  const close = (id: ReservationId, state: "settled" | "released", units: Units) =>
    Effect.gen(function* () {
      const used = Math.min(roundUpUnits(units), Number.MAX_SAFE_INTEGER)
      const createdAt = DateTime.toDate(yield* DateTime.now)
      const [fromDay, usedFromDay, fromCredits, usedFromCredits] = yield* Effect.all([
        ids.next("led"),
        ids.next("led"),
        ids.next("led"),
        ids.next("led")
      ])
      const closed = yield* sql`${sql.literal(preparedMark)}
        with closed as (
          update reservations
          set state = ${state}, settled_daily_units = least(daily_units, ${used}::bigint),
            settled_credit_units = least(credit_units, greatest(${used}::bigint - daily_units, 0))
          where id = ${toStorableText(id)} and state = 'reserved'
          returning id, user_id, day, cause, settled_daily_units as daily, settled_credit_units as credit,
            daily_units - settled_daily_units as returned_daily, credit_units - settled_credit_units as returned_credit
        ), returned_day as (
          update unit_days set used = used - closed.returned_daily from closed
          where unit_days.user_id = closed.user_id and unit_days.day = closed.day and closed.returned_daily > 0
          returning unit_days.user_id
        ), returned_credit as (
          update users set credit_units = credit_units + closed.returned_credit
          from closed, (select count(*) from returned_day) as days
          where users.id = closed.user_id and closed.returned_credit > 0
        ), booked as (
          insert into ledger_entries (id, transaction_id, user_id, account, units, cause, created_at)
          select entry.id, closed.id, closed.user_id, entry.account, entry.units, closed.cause, ${createdAt}::timestamptz
          from closed cross join lateral (values
            (${fromDay}, 'allowance', -daily), (${usedFromDay}, 'usage', daily),
            (${fromCredits}, 'credits', -credit), (${usedFromCredits}, 'usage', credit)
          ) as entry (id, account, units)
          where entry.units <> 0
        )
        select daily + credit as units from closed`.pipe(decodeFirstRow(ClosedRow))
      if (Option.isSome(closed)) charged.unsafeUpdate(closed.value.units, [])
      return Option.isSome(closed)
    }).pipe(Effect.orDie)

  return {
    settle: (id: ReservationId, units: Units) => Effect.asVoid(close(id, "settled", units)),
    release: (id: ReservationId) => close(id, "released", noUnits)
  }
}
