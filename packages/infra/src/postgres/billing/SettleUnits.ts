import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { roundUpUnits } from "@berth/domain/billing/units/UnitSplit"
import type { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { currentTime } from "@berth/domain/shared/HotPath"
import { noUnits, type Units } from "@berth/domain/shared/Money"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, DateTime, Effect, Metric, Option, Schema } from "effect"
import type { Directly } from "../DirectQueries.ts"
import { type GroupRequests, skipFailedGroup } from "../RequestGroups.ts"
import { decodeFirstRow } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { toStorableText } from "../StorableText.ts"
import { bookSettled } from "./LedgerWriter.ts"
import { type GroupedSettlement, makeSettleGroup } from "./SettleGroup.ts"
import type { LimitPerUser } from "./UserLimit.ts"

export const charged = Metric.counter("berth_units_charged_total", {
  description: "Units booked for work that was done",
  incremental: true
})

const decodeSettled = decodeFirstRow(Schema.Struct({ units: UnitsColumn }))

type Closing = Pick<GroupedSettlement, "reservationId" | "state" | "units" | "model">

/** Closes reservations: books the used units and returns the rest. */
export const makeSettleUnits = (
  sql: SqlClient,
  directly: Directly,
  groupRequests: GroupRequests,
  limitPerUser: LimitPerUser,
  ids: Context.Tag.Service<IdGenerator>
) => {
  const inGroup = groupRequests(skipFailedGroup(makeSettleGroup(sql, directly)))
  const nextId = ids.next("led")

  /**
   * False if the reservation is already closed. Read committed: a lock reads the newest version of its row. The update
   * must write the row in full, since PostgreSQL first checks the constraints on the version of the statement's older
   * snapshot. The reservation is locked first but changed last: a call that reserves its cause holds the day while it
   * waits for the transaction that changed the reservation, and does not wait for a lock. The day is locked for the
   * counters of its agents too.
   */
  const closeAlone = Effect.fnUntraced(function* ({ model, reservationId, state, units: used }: Closing) {
    const at = DateTime.toDate(yield* currentTime)
    const closed = yield* decodeSettled(
      directly(sql`
        with open as materialized (
          select id, user_id, day, daily_units, credit_units, least(daily_units, ${used}::bigint) as booked_daily,
            least(credit_units, greatest(${used}::bigint - daily_units, 0)) as booked_credit
          from (
            select id, user_id, day, daily_units, credit_units, state from reservations where id = ${reservationId} for update
          ) as locked
          where state = 'reserved'
        ), held_day as materialized (
          select user_id, day, used - (daily_units - booked_daily) as used from open join unit_days using (user_id, day)
          where booked_daily + booked_credit < daily_units + credit_units for no key update of unit_days
        ), returned_day as (
          update unit_days set used = held_day.used from held_day
          where unit_days.user_id = held_day.user_id and unit_days.day = held_day.day
          returning unit_days.user_id
        ), returned_credit as (
          update users set credit_units = users.credit_units + (open.credit_units - booked_credit)
          from open, (select count(*) from returned_day) as days
          where users.id = open.user_id and booked_credit < open.credit_units
          returning users.id
        ), settled as (
          update reservations
          set state = ${state}, daily_units = open.daily_units, settled_daily_units = booked_daily,
            credit_units = open.credit_units, settled_credit_units = booked_credit, model = coalesce(${model}::text, model)
          from open, (select count(*) from returned_day) as days, (select count(*) from returned_credit) as payers
          where reservations.id = open.id
          returning reservations.id as held_by, reservations.user_id as payer_id, cause, booked_daily as daily_units,
            booked_credit as credit_units, ${yield* nextId} as allowance_entry, ${yield* nextId} as usage_entry,
            ${yield* nextId} as credits_entry, ${yield* nextId} as credit_usage_entry, ${at}::timestamptz as at
        ), ${bookSettled(sql)}
        select daily_units + credit_units as units from settled`)
    )
    if (Option.isSome(closed)) charged.unsafeUpdate(closed.value.units, [])
    return Option.isSome(closed)
  })

  /** In its own statement if the group skipped the reservation. */
  const close = Effect.fnUntraced(function* (closing: Closing) {
    const entries = { id: yield* nextId, usageEntry: yield* nextId, at: yield* currentTime }
    const found = yield* inGroup(Object.assign(entries, closing))
    if (Option.isNone(found)) return yield* closeAlone(closing)
    const { isOpen, units, userId } = found.value
    if (units === null) return isOpen && (yield* limitPerUser(userId, closeAlone(closing)))
    charged.unsafeUpdate(units, [])
    return true
  }, Effect.uninterruptible)

  const storable = (id: ReservationId) => ReservationId.make(toStorableText(id))

  return {
    /** False if the reservation is already closed. */
    settle: (id: ReservationId, units: Units, model?: string) =>
      close({
        reservationId: storable(id),
        state: "settled",
        units: Math.min(roundUpUnits(units), Number.MAX_SAFE_INTEGER),
        model: model === undefined ? null : toStorableText(model)
      }),
    release: (id: ReservationId) =>
      close({ reservationId: storable(id), state: "released", units: noUnits, model: null })
  }
}
