import { findExceeded } from "@berth/domain/billing/budgets/Budget"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import type { ReservationRequest } from "@berth/domain/billing/units/ReservationRepository"
import { roundUpUnits, takeUnits, type UnitSplit } from "@berth/domain/billing/units/UnitSplit"
import type { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { noUnits } from "@berth/domain/shared/Money"
import type { UserId } from "@berth/domain/shared/UserId"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, DateTime, Effect, Either, Option, Schema } from "effect"
import { currentTime } from "@berth/domain/shared/HotPath"
import type { Directly } from "../DirectQueries.ts"
import { type GroupRequests, skipFailedGroup } from "../RequestGroups.ts"
import { decodeFirstRow } from "../Rows.ts"
import { readBindingBudgets } from "./BudgetUsage.ts"
import { makeReserveGroup } from "./ReserveGroup.ts"
import type { LimitPerUser } from "./UserLimit.ts"
import { lockCreditUnits, lockDailyUnits, today } from "./BalanceLocks.ts"
import { violatesConstraint } from "../SqlErrors.ts"
import { toStorableText } from "../StorableText.ts"

const ReservationKey = Schema.Struct({ id: ReservationId })

const decodeKey = decodeFirstRow(ReservationKey)

/**
 * Reserves in one statement if the day's units suffice and no budget applies, else in a transaction that locks day and
 * user. Concurrent requests share a statement unless their rows are locked.
 */
export const makeReserveUnits = (
  sql: SqlClient,
  directly: Directly,
  groupRequests: GroupRequests,
  limitPerUser: LimitPerUser,
  ids: Context.Tag.Service<IdGenerator>,
  holder: string
) => {
  const inGroup = groupRequests(skipFailedGroup(makeReserveGroup(sql, directly, holder)))

  // The single statement locks the day before the reservation, so calls of a cause are serialized by an advisory lock.
  const causeLock = (userId: UserId, cause: string) =>
    sql`pg_advisory_xact_lock(hashtextextended(${`reserve ${userId} ${cause}`}, 0))`

  const insert = Effect.fnUntraced(function* ({ agentId, cause, user }: ReservationRequest, day: string) {
    const createdAt = DateTime.toDate(yield* DateTime.now)
    return yield* sql`
      insert into reservations ${sql.insert({
        id: yield* ids.next("rsv"),
        userId: user.id,
        agentId,
        cause,
        day,
        state: "reserved",
        dailyUnits: 0,
        creditUnits: 0,
        holder,
        createdAt
      })}
      on conflict (user_id, cause) where state <> 'released' do nothing
      returning id`.pipe(decodeFirstRow(ReservationKey))
  })

  /**
   * Returns the reservation of the cause; transfers an open one to this process, since the process of the first request
   * may be dead.
   */
  const takeOver = (userId: UserId, cause: string) => {
    const isOfCause = sql`user_id = ${userId} and cause = ${cause}`
    return sql`
      with taken as (
        update reservations set holder = ${holder} where ${isOfCause} and state = 'reserved' returning id
      )
      select id from taken union all select id from reservations where ${isOfCause} and state = 'settled'`.pipe(
      decodeFirstRow(ReservationKey)
    )
  }

  /** Reservations of two days can count against one month, so the user's lock serializes them. */
  const requireBudgets = Effect.fnUntraced(function* ({ agentId, units, user }: ReservationRequest, day: string) {
    yield* lockCreditUnits(sql, user.id)
    const budgets = yield* readBindingBudgets(sql, { userId: user.id, agentId, day })
    yield* Option.match(findExceeded(budgets, roundUpUnits(units), DateTime.unsafeMake(day)), {
      onNone: () => Effect.void,
      onSome: Effect.fail
    })
  })

  /** Locks the user's row only if credits are required or budgets apply. */
  const split = Effect.fnUntraced(function* (request: ReservationRequest, day: string) {
    const { dailyUnitsOf, units, user } = request
    const { daily, hasBudgets } = yield* lockDailyUnits(sql, user.id, day, dailyUnitsOf)
    if (hasBudgets) yield* requireBudgets(request, day)
    const fromDay = takeUnits({ daily, credit: noUnits }, units)
    if (Either.isRight(fromDay)) return fromDay.right
    return yield* takeUnits({ daily, credit: yield* lockCreditUnits(sql, user.id) }, units)
  })

  const hold = (id: ReservationId, userId: UserId, day: string, reserved: UnitSplit) =>
    sql`
      with held_day as (
        update unit_days set used = used + ${reserved.daily}
        where user_id = ${userId} and day = ${day} and ${reserved.daily}::bigint > 0
      ), held_user as (
        update users set credit_units = credit_units - ${reserved.credit}
        where id = ${userId} and ${reserved.credit}::bigint > 0
      )
      update reservations set daily_units = ${reserved.daily}, credit_units = ${reserved.credit} where id = ${id}`

  /** None if the day's units on the caller's plan do not suffice or budgets apply; then the transaction decides. */
  const reserveFromDay = Effect.fnUntraced(function* ({
    agentId,
    cause,
    dailyUnitsOf,
    units,
    user
  }: ReservationRequest) {
    const dailyUnits = dailyUnitsOf(user)
    const now = yield* currentTime
    const reserved = directly(sql`
      with locked as materialized (select ${causeLock(user.id, cause)}), payer as (
        select id from users cross join locked
        where id = ${user.id} and plan = ${user.plan}
          and (email_verified_at is null) = ${user.emailVerifiedAt === null}::boolean and not exists (
            select from reservations where user_id = ${user.id} and cause = ${cause} and state <> 'released'
          ) and not exists (select from budgets where user_id = ${user.id})
      ), held_day as (
        insert into unit_days as today (user_id, day, used)
        select id, ${DateTime.formatIsoDateUtc(now)}::date, ${units}::bigint from payer
        where ${units}::bigint <= ${dailyUnits}::bigint
        on conflict (user_id, day) do update set used = today.used + excluded.used
        where today.used + excluded.used <= ${dailyUnits}::bigint
        returning user_id, day
      )
      insert into reservations (id, user_id, agent_id, cause, day, state, daily_units, credit_units, holder, created_at)
      select ${yield* ids.next("rsv")}, user_id, ${agentId}::text, ${cause}, day, 'reserved', ${units}::bigint, 0,
        ${holder}, ${DateTime.toDate(now)}::timestamptz
      from held_day
      returning id`)
    return yield* reserved.pipe(
      Effect.catchIf(violatesConstraint("reservations_cause_key"), () => Effect.succeed([])),
      decodeKey
    )
  })

  const reserveInTransaction = (request: ReservationRequest) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const { cause, user } = request
        const day = yield* today
        yield* sql`select ${causeLock(user.id, cause)}`
        const inserted = yield* insert(request, day)
        // None: the cause's reservation was released concurrently, so the caller repeats.
        if (Option.isNone(inserted)) return yield* takeOver(user.id, cause)
        yield* hold(inserted.value.id, user.id, day, yield* split(request, day))
        return inserted
      })
    )

  /** In its own statement if the group skipped the request. */
  const reserveWithoutTransaction = Effect.fnUntraced(function* (request: ReservationRequest) {
    const id = ReservationId.make(yield* ids.next("rsv"))
    const isReserved = yield* inGroup(Object.assign({ id, at: yield* currentTime }, request))
    if (Option.isNone(isReserved)) return yield* limitPerUser(request.user.id, reserveFromDay(request))
    return isReserved.value ? Option.some({ id }) : Option.none()
  }, Effect.uninterruptible)

  return (request: ReservationRequest) => {
    const stored = Object.assign({}, request, { cause: toStorableText(request.cause) })
    const first =
      Number.isSafeInteger(request.units) && request.units > 0 ? reserveWithoutTransaction(stored) : Effect.succeedNone
    const attempt: Effect.Effect<
      ReservationId,
      Effect.Effect.Error<ReturnType<typeof reserveInTransaction>>
    > = first.pipe(
      Effect.flatMap((reservation) =>
        Option.isSome(reservation)
          ? Effect.succeed(reservation)
          : limitPerUser(request.user.id, reserveInTransaction(stored))
      ),
      Effect.flatMap((reservation) => (Option.isSome(reservation) ? Effect.succeed(reservation.value.id) : attempt))
    )
    return Effect.catchTag(attempt, "SqlError", Effect.die)
  }
}
