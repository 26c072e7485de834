import type { ReservationId } from "@berth/domain/billing/units/Reservation"
import { settleUnits } from "@berth/domain/billing/units/UnitSplit"
import type { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { noUnits, type Units } from "@berth/domain/shared/Money"
import { UserId } from "@berth/domain/shared/UserId"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, DateTime, Effect, Metric, Option, Schema } from "effect"
import { preparedMark } from "../PreparedStatements.ts"
import { decodeFirstRow } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { toStorableText } from "../StorableText.ts"
import { makeLedgerWriter } from "./LedgerWriter.ts"

export const charged = Metric.counter("berth_units_charged_total", {
  description: "Units booked for work that was done",
  incremental: true
})

const SettledRow = Schema.Struct({ units: UnitsColumn })
const OpenReservation = Schema.Struct({
  userId: UserId,
  day: Schema.String,
  cause: Schema.String,
  dailyUnits: UnitsColumn,
  creditUnits: UnitsColumn
})

/** The part of a statement that books all units of the reservations in `settled`. */
export const makeBooking = (sql: SqlClient, ids: Context.Tag.Service<IdGenerator>) => {
  const nextId = ids.next("led")
  return (at: Date) =>
    Effect.map(
      Effect.all([nextId, nextId, nextId, nextId]),
      ([fromDay, usedFromDay, fromCredits, usedFromCredits]) => sql`booked as (
        insert into ledger_entries (id, transaction_id, user_id, account, units, cause, created_at)
        select entry.id, settled.id, settled.user_id, entry.account, entry.units, settled.cause, ${at}::timestamptz
        from settled cross join lateral (values
          (${fromDay}, 'allowance', -daily_units), (${usedFromDay}, 'usage', daily_units),
          (${fromCredits}, 'credits', -credit_units), (${usedFromCredits}, 'usage', credit_units)
        ) as entry (id, account, units)
        where entry.units <> 0
      )`
    )
}

/** Closes reservations: books the used units and returns the rest. */
export const makeSettleUnits = (sql: SqlClient, ids: Context.Tag.Service<IdGenerator>) => {
  const ledger = makeLedgerWriter(sql, ids)
  const book = makeBooking(sql, ids)

  /** One statement when all reserved units are used. False when fewer are, or the reservation is closed. */
  const settleWhole = (id: ReservationId, units: Units, model: string | null) =>
    Effect.gen(function* () {
      const createdAt = DateTime.toDate(yield* DateTime.now)
      const booked = yield* book(createdAt)
      const closed = yield* sql`${sql.literal(preparedMark)}
        with settled as (
          update reservations
          set state = 'settled', settled_daily_units = daily_units, settled_credit_units = credit_units,
            model = coalesce(${model}::text, model)
          where id = ${toStorableText(id)} and state = 'reserved' and daily_units + credit_units <= ${units}::bigint
          returning id, user_id, cause, daily_units, credit_units
        ), ${booked}
        select daily_units + credit_units as units from settled`.pipe(decodeFirstRow(SettledRow))
      if (Option.isSome(closed)) charged.unsafeUpdate(closed.value.units, [])
      return Option.isSome(closed)
    }).pipe(Effect.orDie)

  /**
   * False when the reservation is closed already. It is locked first but changed last: a call that reserves its cause holds the
   * day while it waits for the transaction that changed the reservation, and does not wait for a lock.
   */
  const close = (id: ReservationId, state: "settled" | "released", units: Units, model: string | null = null) =>
    sql
      .withTransaction(
        Effect.gen(function* () {
          const open = yield* sql`
            select user_id, day::text as day, cause, daily_units, credit_units from reservations
            where id = ${toStorableText(id)} and state = 'reserved' for update`.pipe(decodeFirstRow(OpenReservation))
          if (Option.isNone(open)) return false
          const { userId, day, cause, dailyUnits, creditUnits } = open.value
          const { booked, returned } = settleUnits({ daily: dailyUnits, credit: creditUnits }, units)
          // Also locks the day for the counters of its agents.
          if (returned.daily + returned.credit > 0)
            yield* sql`
              update unit_days set used = used - ${returned.daily} where user_id = ${userId} and day = ${day}::date`
          if (returned.credit > 0)
            yield* sql`update users set credit_units = credit_units + ${returned.credit} where id = ${userId}`
          yield* sql`
            update reservations
            set state = ${state}, settled_daily_units = ${booked.daily}, settled_credit_units = ${booked.credit},
              model = coalesce(${model}::text, model)
            where id = ${id}`
          const usage = { userId, to: "usage", cause, transaction: id } as const
          yield* ledger.move({ ...usage, from: "allowance", units: booked.daily })
          yield* ledger.move({ ...usage, from: "credits", units: booked.credit })
          charged.unsafeUpdate(booked.daily + booked.credit, [])
          return true
        })
      )
      .pipe(Effect.orDie)

  return {
    /** False when the reservation is closed already. */
    settle: (id: ReservationId, units: Units, model?: string) =>
      Effect.gen(function* () {
        const answered = model === undefined ? null : toStorableText(model)
        const whole = Number.isSafeInteger(units) && units >= 0 ? yield* settleWhole(id, units, answered) : false
        return whole || (yield* close(id, "settled", units, answered))
      }),
    release: (id: ReservationId) => close(id, "released", noUnits)
  }
}
