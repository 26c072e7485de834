import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { ReservationRepository } from "@berth/domain/billing/units/ReservationRepository"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { Array, DateTime, type Duration, Effect, Layer, Option, Schema } from "effect"
import { decodeFirstRow, decodeRows } from "../Rows.ts"
import { makeReserveUnits } from "./ReserveUnits.ts"
import { makeSettleUnits } from "./SettleUnits.ts"

const StaleRow = Schema.Struct({ id: ReservationId })
const UsedRow = Schema.Struct({ used: Schema.NumberFromString })

const releaseBatch = 100

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const ids = yield* IdGenerator
  const reserve = makeReserveUnits(sql, ids)
  const { release, settle } = makeSettleUnits(sql, ids)

  const releaseBatchBefore = (before: Date) =>
    Effect.gen(function* () {
      const stale = yield* sql`
        select id from reservations
        where state = 'reserved' and created_at < ${before}
          and not exists (
            select from messages where messages.reservation_id = reservations.id and messages.state = 'pending'
          )
        order by created_at limit ${releaseBatch}`.pipe(decodeRows(StaleRow), Effect.orDie)
      const released = yield* Effect.forEach(stale, ({ id }) => release(id))
      return { released: Array.filter(released, Boolean).length, isLast: stale.length < releaseBatch }
    })

  return ReservationRepository.of({
    reserve: Effect.fn("ReservationRepository.reserve")(reserve),
    settle: Effect.fn("ReservationRepository.settle")(settle),
    release: Effect.fn("ReservationRepository.release")((id: ReservationId) => Effect.asVoid(release(id))),
    findUsedToday: Effect.fn("ReservationRepository.findUsedToday")(function* (userId: UserId) {
      const day = DateTime.formatIsoDateUtc(yield* DateTime.now)
      const row = yield* sql`select used from unit_days where user_id = ${userId} and day = ${day}::date`.pipe(
        decodeFirstRow(UsedRow),
        Effect.orDie
      )
      return Option.match(row, { onNone: () => 0, onSome: ({ used }) => used })
    }),
    releaseStale: Effect.fn("ReservationRepository.releaseStale")(function* (
      age: Duration.Duration,
      now: DateTime.Utc
    ) {
      const before = DateTime.toDate(DateTime.subtractDuration(now, age))
      let total = 0
      for (let isLast = false; !isLast;) {
        const batch = yield* releaseBatchBefore(before)
        total += batch.released
        isLast = batch.isLast
      }
      return total
    })
  })
})

export const layer: Layer.Layer<ReservationRepository, never, SqlClient | IdGenerator> = Layer.effect(
  ReservationRepository,
  make
)
