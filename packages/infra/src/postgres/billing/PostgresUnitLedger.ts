import { Administrators } from "@berth/domain/accounts/Administrators"
import { type User } from "@berth/domain/shared/User"
import { UnitLedger, ReservationId } from "@berth/domain/billing/units/UnitLedger"
import { findEntitlements } from "@berth/domain/billing/subscriptions/Plan"
import { settleUnits, takeUnits, type UnitSplit, computeUnitUsage } from "@berth/domain/billing/units/UnitSplit"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { Array, DateTime, type Duration, Effect, Either, Layer, Option, Schema } from "effect"
import { makeLedgerWriter } from "./LedgerWriter.ts"
import { decodeRows, decodeFirstRow, decodeSingleRow } from "../Rows.ts"
import { violatesConstraint } from "../SqlErrors.ts"
import { toStorableText } from "../StorableText.ts"
import { PlanId } from "@berth/domain/shared/PlanId"
import { UserId } from "@berth/domain/shared/UserId"

const Units = Schema.NumberFromString
const ReservationKey = Schema.Struct({ id: ReservationId })
const Payer = Schema.Struct({ used: Units, plan: PlanId, creditUnits: Units })
const Credits = Schema.Struct({ creditUnits: Units })
const Open = Schema.Struct({
  userId: UserId,
  day: Schema.String,
  cause: Schema.String,
  dailyUnits: Units,
  creditUnits: Units
})
const UsedUnits = Schema.Struct({ used: Units })

const releaseBatch = 100

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const admins = yield* Administrators
  const ids = yield* IdGenerator
  const ledger = makeLedgerWriter(sql, ids)

  const today = Effect.map(DateTime.now, DateTime.formatIsoDateUtc)

  // Every method takes its rows in one order, reservation, day, user, so that no two of them wait for each other. The short
  // way of reserving cannot, so that reservations of one cause take turns first.

  const turnOf = (userId: UserId, cause: string) =>
    sql`pg_advisory_xact_lock(hashtextextended(${`reserve ${userId} ${cause}`}, 0))`

  const insertReservation = (userId: UserId, day: string, cause: string) =>
    Effect.gen(function* () {
      const createdAt = DateTime.toDate(yield* DateTime.now)
      return yield* sql`
        insert into reservations ${sql.insert({
          id: yield* ids.next("rsv"),
          userId,
          cause,
          day,
          state: "reserved",
          dailyUnits: 0,
          creditUnits: 0,
          createdAt
        })}
        on conflict (user_id, cause) where state <> 'released' do nothing
        returning id`.pipe(decodeFirstRow(ReservationKey))
    })

  const findReservation = (userId: UserId, cause: string) =>
    sql`
      select id from reservations
      where user_id = ${userId} and cause = ${cause} and state <> 'released'`.pipe(decodeFirstRow(ReservationKey))

  /** Locks the day's row: what is left of the day stays true until commit. */
  const lockDay = (userId: UserId, day: string) =>
    sql`
      with today as (
        insert into unit_days (user_id, day, used) values (${userId}, ${day}, 0)
        on conflict (user_id, day) do update set used = unit_days.used
        returning used
      )
      select today.used, users.plan, users.credit_units from today, users where users.id = ${userId}`.pipe(
      decodeSingleRow(Payer)
    )

  const lockCredits = (userId: UserId) =>
    sql`select credit_units from users where id = ${userId} for no key update`.pipe(decodeSingleRow(Credits))

  /** How much of the day and of the credits `units` take. The user's row is locked only when credits have to pay. */
  const split = (userId: UserId, day: string, units: number) =>
    Effect.gen(function* () {
      const payer = yield* lockDay(userId, day)
      const daily = computeUnitUsage(findEntitlements(payer.plan).dailyUnits, payer.used).remaining
      const ofTheDay = takeUnits({ daily, credit: 0 }, units)
      if (Either.isRight(ofTheDay)) return ofTheDay.right
      const { creditUnits } = yield* lockCredits(userId)
      // Below zero they are owed: nothing is paid from them, and the day's units pay as before.
      return yield* takeUnits({ daily, credit: Math.max(0, creditUnits) }, units)
    })

  const hold = (id: ReservationId, userId: UserId, day: string, taken: UnitSplit) =>
    sql`
      with of_the_day as (
        update unit_days set used = used + ${taken.daily}
        where user_id = ${userId} and day = ${day} and ${taken.daily}::bigint > 0
      ), of_the_user as (
        update users set credit_units = credit_units - ${taken.credit}
        where id = ${userId} and ${taken.credit}::bigint > 0
      )
      update reservations set daily_units = ${taken.daily}, credit_units = ${taken.credit} where id = ${id}`

  /**
   * The usual case in one statement: the day has enough left on the plan that the caller knows of. None when anything is
   * otherwise; the longer way then says what. Two at a time with one cause end in an error of the second one.
   */
  const reserveOfTheDay = (user: User, units: number, cause: string) =>
    Effect.gen(function* () {
      const { dailyUnits } = findEntitlements(user.plan)
      const createdAt = DateTime.toDate(yield* DateTime.now)
      return yield* sql`
        with turn as materialized (select ${turnOf(user.id, cause)}), payer as (
          select id from users cross join turn
          where id = ${user.id} and plan = ${user.plan} and not exists (
            select from reservations where user_id = ${user.id} and cause = ${cause} and state <> 'released'
          )
        ), of_the_day as (
          insert into unit_days as today (user_id, day, used)
          select id, ${yield* today}::date, ${units}::bigint from payer where ${units}::bigint <= ${dailyUnits}::bigint
          on conflict (user_id, day) do update set used = today.used + excluded.used
          where today.used + excluded.used <= ${dailyUnits}::bigint
          returning user_id, day
        )
        insert into reservations (id, user_id, cause, day, state, daily_units, credit_units, created_at)
        select ${yield* ids.next("rsv")}, user_id, ${cause}, day, 'reserved', ${units}::bigint, 0, ${createdAt}::timestamptz
        from of_the_day
        returning id`.pipe(
        decodeFirstRow(ReservationKey),
        Effect.catchIf(violatesConstraint("reservations_cause_key"), () => Effect.succeedNone)
      )
    })

  const reserveOnce = (userId: UserId, units: number, cause: string) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const day = yield* today
        yield* sql`select ${turnOf(userId, cause)}`
        const made = yield* insertReservation(userId, day, cause)
        // The same cause has reserved already; none when that reservation was released just now.
        if (Option.isNone(made)) return yield* findReservation(userId, cause)
        yield* hold(made.value.id, userId, day, yield* split(userId, day, units))
        return made
      })
    )

  const reserve = Effect.fn("UnitLedger.reserve")(function* (user: User, units: number, cause: string) {
    if (admins.includes(user)) return Option.none<ReservationId>()
    const named = toStorableText(cause)
    const atOnce = Number.isSafeInteger(units) && units > 0 ? reserveOfTheDay(user, units, named) : Effect.succeedNone
    const reservation = yield* atOnce.pipe(
      Effect.flatMap((made) => (Option.isSome(made) ? Effect.succeed(made) : reserveOnce(user.id, units, named))),
      Effect.catchAll((error) => (error instanceof SqlError ? Effect.die(error) : Effect.fail(error))),
      Effect.repeat({ until: Option.isSome })
    )
    return Option.map(reservation, ({ id }) => id)
  })

  /** The usual case in one statement: all that was reserved is used. False when less is, or the reservation was closed before. */
  const settleWhole = (id: ReservationId, units: number) =>
    Effect.gen(function* () {
      const createdAt = DateTime.toDate(yield* DateTime.now)
      const [ofDay, usedOfDay, ofCredits, usedOfCredits] = yield* Effect.all([
        ids.next("led"),
        ids.next("led"),
        ids.next("led"),
        ids.next("led")
      ])
      const closed = yield* sql`
        with closed as (
          update reservations
          set state = 'settled', settled_daily_units = daily_units, settled_credit_units = credit_units
          where id = ${toStorableText(id)} and state = 'reserved' and daily_units + credit_units <= ${units}::bigint
          returning id, user_id, cause, daily_units, credit_units
        ), booked as (
          insert into ledger_entries (id, transaction_id, user_id, account, units, cause, created_at)
          select entry.id, closed.id, closed.user_id, entry.account, entry.units, closed.cause, ${createdAt}::timestamptz
          from closed cross join lateral (values
            (${ofDay}, 'allowance', -daily_units), (${usedOfDay}, 'usage', daily_units),
            (${ofCredits}, 'credits', -credit_units), (${usedOfCredits}, 'usage', credit_units)
          ) as entry (id, account, units)
          where entry.units <> 0
        )
        select id from closed`.pipe(decodeFirstRow(ReservationKey))
      return Option.isSome(closed)
    }).pipe(Effect.orDie)

  /** Books what was used and gives back the rest; false when the reservation was closed before. */
  const close = (id: ReservationId, state: "settled" | "released", units: number) =>
    sql
      .withTransaction(
        Effect.gen(function* () {
          const open = yield* sql`
            select user_id, day::text as day, cause, daily_units, credit_units from reservations
            where id = ${toStorableText(id)} and state = 'reserved' for update`.pipe(decodeFirstRow(Open))
          if (Option.isNone(open)) return false
          const { userId, day, cause, dailyUnits, creditUnits } = open.value
          const { booked, returned } = settleUnits({ daily: dailyUnits, credit: creditUnits }, units)
          yield* sql`
            update reservations
            set state = ${state}, settled_daily_units = ${booked.daily}, settled_credit_units = ${booked.credit}
            where id = ${id}`
          if (returned.daily > 0)
            yield* sql`
              update unit_days set used = used - ${returned.daily} where user_id = ${userId} and day = ${day}::date`
          if (returned.credit > 0)
            yield* sql`update users set credit_units = credit_units + ${returned.credit} where id = ${userId}`
          const usage = { userId, to: "usage", cause, transaction: id } as const
          yield* ledger.move({ ...usage, from: "allowance", units: booked.daily })
          yield* ledger.move({ ...usage, from: "credits", units: booked.credit })
          return true
        })
      )
      .pipe(Effect.orDie)

  return UnitLedger.of({
    reserve,
    settle: Effect.fn("UnitLedger.settle")(function* (id: ReservationId, units: number) {
      const whole = Number.isSafeInteger(units) && units >= 0 ? yield* settleWhole(id, units) : false
      if (!whole) yield* close(id, "settled", units)
    }),
    release: Effect.fn("UnitLedger.release")(function* (id: ReservationId) {
      yield* close(id, "released", 0)
    }),
    findUsage: Effect.fn("UnitLedger.findUsage")(function* (userId: UserId, dailyUnits: number) {
      const row = yield* sql`
        select used from unit_days where user_id = ${userId} and day = ${yield* today}::date`.pipe(
        decodeFirstRow(UsedUnits),
        Effect.orDie
      )
      return computeUnitUsage(dailyUnits, Option.match(row, { onNone: () => 0, onSome: ({ used }) => used }))
    }),
    releaseStale: Effect.fn("UnitLedger.releaseStale")(function* (age: Duration.Duration, now: DateTime.Utc) {
      const before = DateTime.toDate(DateTime.subtractDuration(now, age))
      const batch = Effect.gen(function* () {
        const stale = yield* sql`
          select id from reservations
          where state = 'reserved' and created_at < ${before}
            and not exists (
              select from messages where messages.reservation_id = reservations.id and messages.state = 'pending'
            )
          order by created_at limit ${releaseBatch}`.pipe(decodeRows(ReservationKey), Effect.orDie)
        const released = yield* Effect.forEach(stale, ({ id }) => close(id, "released", 0))
        return { released: Array.filter(released, Boolean).length, more: stale.length === releaseBatch }
      })
      let total = 0
      for (let more = true; more;) {
        const outcome = yield* batch
        total += outcome.released
        more = outcome.more
      }
      return total
    })
  })
})

export const layer: Layer.Layer<UnitLedger, never, SqlClient | Administrators | IdGenerator> = Layer.effect(
  UnitLedger,
  make
)
