import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { type Delivery, ReservationRepository } from "@berth/domain/billing/units/ReservationRepository"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { noUnits } from "@berth/domain/shared/Money"
import { withExportedSpan } from "@berth/domain/shared/SpanExport"
import { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Array, DateTime, Effect, flow, Layer, Option, Schema } from "effect"
import { toDatabaseTime } from "../DatabaseClock.ts"
import { makeDirectly } from "../DirectQueries.ts"
import { makeRequestGroups } from "../RequestGroups.ts"
import { countAffectedRows, decodeFirstRow, decodeRows, execute } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { today } from "./BalanceLocks.ts"
import { makeExtendReservation } from "./ExtendReservation.ts"
import { ReservationHolder } from "./ReservationHolder.ts"
import { makeReserveUnits } from "./ReserveUnits.ts"
import { makeSettleUnits } from "./SettleUnits.ts"
import { makeLimitPerUser } from "./UserLimit.ts"
import * as Repository from "../Repository.ts"

const StaleRow = Schema.Struct({ id: ReservationId, deliveredUnits: UnitsColumn })
const UsedRow = Schema.Struct({ used: UnitsColumn })

const closeBatch = 100

/** A holder without a lease. */
const abandoned = "abandoned"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const ids = yield* IdGenerator
  const holder = yield* ReservationHolder
  const directly = yield* makeDirectly
  const groupRequests = yield* makeRequestGroups
  const limitPerUser = yield* makeLimitPerUser
  const reserve = makeReserveUnits(sql, directly, groupRequests, limitPerUser, ids, holder)
  const extend = makeExtendReservation(sql, limitPerUser)
  const { release, settle } = makeSettleUnits(sql, directly, groupRequests, limitPerUser, ids)

  const asDelivery = (deliveries: ReadonlyArray<Delivery>) => {
    const stored = deliveries.map(({ id, units }) => ({ id, units: Math.min(units, Number.MAX_SAFE_INTEGER) }))
    return sql`jsonb_to_recordset(${JSON.stringify(stored)}::jsonb) as delivery (id text, units bigint)`
  }

  const closeBatchAt = Effect.fnUntraced(function* (now: Fragment) {
    const stale = yield* sql`
      select id, delivered_units from reservations
      where state = 'reserved'
        and not exists (
          select from reservation_holders as holders where holders.id = reservations.holder and expires_at >= ${now}
        )
        and not exists (
          select from turns where turns.reservation_id = reservations.id
        )
      order by created_at limit ${closeBatch}`.pipe(decodeRows(StaleRow))
    const closed = yield* Effect.forEach(stale, ({ deliveredUnits, id }) =>
      deliveredUnits > 0 ? settle(id, deliveredUnits) : release(id)
    )
    return { closed: Array.filter(closed, Boolean).length, isLast: stale.length < closeBatch }
  })

  return ReservationRepository.of({
    reserve: flow(reserve, withExportedSpan("ReservationRepository.reserve")),
    extend,
    settle: flow(settle, Effect.asVoid, withExportedSpan("ReservationRepository.settle")),
    release: (id) => Effect.asVoid(release(id)),
    findUsedToday: (userId) =>
      Effect.gen(function* () {
        const row =
          yield* sql`select used from unit_days where user_id = ${userId} and day = ${yield* today}::date`.pipe(
            decodeFirstRow(UsedRow)
          )
        return Option.match(row, { onNone: () => noUnits, onSome: ({ used }) => used })
      }),
    renewLease: (expiresAt) =>
      Effect.flatMap(toDatabaseTime(sql, expiresAt), (at) =>
        execute(sql`
          insert into reservation_holders (id, expires_at) values (${holder}, ${at})
          on conflict (id) do update set expires_at = excluded.expires_at`)
      ),
    // Locked in a fixed order, since another process can record the same reservation.
    recordDeliveries: (deliveries) =>
      execute(sql`
        with risen as (
          select reservations.id, least(delivery.units, daily_units + credit_units) as units
          from reservations
          join ${asDelivery(deliveries)} using (id)
          where state = 'reserved' and delivered_units < least(delivery.units, daily_units + credit_units)
          order by reservations.id for no key update of reservations
        )
        update reservations set delivered_units = risen.units from risen where reservations.id = risen.id`),
    abandon: (costs) =>
      execute(sql`
        with left_open as (
          select reservations.id, least(delivery.units, daily_units + credit_units) as units
          from reservations
          join ${asDelivery(costs)} using (id)
          where state = 'reserved' and holder = ${holder}
          order by reservations.id for no key update of reservations
        )
        update reservations set holder = ${abandoned}, delivered_units = left_open.units
        from left_open where reservations.id = left_open.id`),
    closeAbandoned: (now) =>
      Effect.gen(function* () {
        const at = yield* toDatabaseTime(sql, now)
        let total = 0
        for (let isLast = false; !isLast;) {
          const batch = yield* closeBatchAt(at)
          total += batch.closed
          isLast = batch.isLast
        }
        yield* execute(sql`
          delete from reservation_holders as holders
          where expires_at < ${at}
            and not exists (select from reservations where holder = holders.id and state = 'reserved')`)
        return total
      }),
    prune: (before) =>
      Effect.gen(function* () {
        const day = DateTime.formatIsoDateUtc(before)
        const month = DateTime.formatIsoDateUtc(DateTime.startOf(yield* DateTime.now, "month"))
        const deleted = yield* countAffectedRows(sql`
          delete from reservations using ledger_checkpoints as closed
          where closed.user_id = reservations.user_id and state <> 'reserved' and day < ${day}::date
            and day < (closed.closed_until at time zone 'UTC')::date`)
        yield* execute(sql`
          delete from unit_days where day < ${day}::date
            and not exists (
              select from reservations where reservations.user_id = unit_days.user_id and reservations.day = unit_days.day
            )`)
        // Budgets count whole months, including the month of an open reservation.
        yield* execute(sql`
          delete from agent_unit_days as counted where day < ${day}::date and day < ${month}::date
            and not exists (
              select from reservations where user_id = counted.user_id and day >= date_trunc('month', counted.day)::date
                and day < (date_trunc('month', counted.day) + interval '1 month')::date
            )`)
        return deleted
      })
  })
})

export const layer: Layer.Layer<ReservationRepository, never, SqlClient | IdGenerator> = Repository.layerEffect(
  ReservationRepository,
  make,
  { untraced: ["reserve", "settle"] }
).pipe(Layer.provide(ReservationHolder.layer))
