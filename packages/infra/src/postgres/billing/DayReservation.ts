import type { ReservationRequest } from "@berth/domain/billing/units/ReservationRepository"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { currentTime } from "@berth/domain/shared/HotPath"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Context, DateTime, Effect, Layer } from "effect"

/** Process that settles the reservations: `reservation_holders.id`. */
export class ReservationHolder extends Context.Tag("@berth/infra/ReservationHolder")<ReservationHolder, string>() {
  static readonly layer = Layer.effect(
    ReservationHolder,
    Effect.flatMap(IdGenerator, (ids) => ids.next("hld"))
  )
}

export const today = Effect.map(DateTime.now, DateTime.formatIsoDateUtc)

/**
 * Part of a statement that reserves units of the day if the select `allowed` has a row. `reserved` has a row if the
 * units suffice on the caller's plan, no budget applies and the cause has no reservation.
 */
export const makeDayReservation = (sql: SqlClient, ids: Context.Tag.Service<IdGenerator>, holder: string) =>
  Effect.fnUntraced(function* ({ agentId, cause, dailyUnitsOf, units, user }: ReservationRequest) {
    const dailyUnits = dailyUnitsOf(user)
    const now = yield* currentTime
    return sql`payer as (
        select id from users cross join allowed
        where id = ${user.id} and plan = ${user.plan}
          and (email_verified_at is null) = ${user.emailVerifiedAt === null}::boolean and not exists (
          select from reservations where user_id = ${user.id} and cause = ${cause} and state <> 'released'
        ) and not exists (select from budgets where user_id = ${user.id})
      ), held_day as (
        insert into unit_days as today (user_id, day, used)
        select id, ${DateTime.formatIsoDateUtc(now)}::date, ${units}::bigint from payer where ${units}::bigint <= ${dailyUnits}::bigint
        on conflict (user_id, day) do update set used = today.used + excluded.used
        where today.used + excluded.used <= ${dailyUnits}::bigint
        returning user_id, day
      ), reserved as (
        insert into reservations (id, user_id, agent_id, cause, day, state, daily_units, credit_units, holder, created_at)
        select ${yield* ids.next("rsv")}, user_id, ${agentId}::text, ${cause}, day, 'reserved', ${units}::bigint, 0, ${holder}, ${DateTime.toDate(now)}::timestamptz
        from held_day
        returning id as reservation_id
      )`
  })
