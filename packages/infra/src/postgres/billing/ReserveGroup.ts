import { ReservationId } from "@berth/domain/billing/units/Reservation"
import type { ReservationRequest } from "@berth/domain/billing/units/ReservationRepository"
import type { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Schema } from "effect"
import type { Directly } from "../DirectQueries.ts"
import { selectRequests } from "../RequestTable.ts"
import { mapRows } from "../Rows.ts"

/** A request with the id and time of its reservation. */
interface GroupedReservation extends ReservationRequest {
  readonly id: ReservationId
  readonly at: DateTime.Utc
}

const decodeOutcomes = mapRows(
  Schema.Struct({ id: ReservationId, isReserved: Schema.Boolean }),
  ({ id, isReserved }) => [id, isReserved] as const
)

/**
 * Reserves units of the day for several requests in one statement: per user, all or none. Returns whether each request
 * is reserved. Skips a request if the rows of its user or its cause are locked, or the day has no row: waiting would
 * delay the other users.
 */
export const makeReserveGroup =
  (sql: SqlClient, directly: Directly, holder: string) => (requests: ReadonlyArray<GroupedReservation>) => {
    // Two requests of one cause would reserve it twice.
    const group = Array.from(new Map(requests.map((each) => [`${each.user.id} ${each.cause}`, each])).values())
    const request = selectRequests(sql, group, {
      id: ["text", ({ id }) => id],
      userId: ["text", ({ user }) => user.id],
      plan: ["text", ({ user }) => user.plan],
      isUnconfirmed: ["boolean", ({ user }) => user.emailVerifiedAt === null],
      agentId: ["text", ({ agentId }) => agentId],
      cause: ["text", ({ cause }) => cause],
      day: ["date", ({ at }) => DateTime.formatIsoDateUtc(at)],
      units: ["bigint", ({ units }) => units],
      dailyUnits: ["bigint", ({ dailyUnitsOf, user }) => dailyUnitsOf(user)],
      createdAt: ["timestamptz", ({ at }) => DateTime.formatIso(at)]
    })
    return decodeOutcomes(
      directly(sql`
          with request as materialized (${request}), held as materialized (
            select request.*, today.used,
              payer.plan = request.plan and (payer.email_verified_at is null) = is_unconfirmed as is_current
            from request
            cross join lateral (
              select plan, email_verified_at from users where id = request.user_id for key share skip locked
            ) as payer
            cross join lateral (
              select used from unit_days where user_id = request.user_id and day = request.day
              for no key update skip locked
            ) as today
            where pg_try_advisory_xact_lock(hashtextextended('reserve ' || user_id || ' ' || cause, 0))
          ), fitting as materialized (
            select held.*, used + sum(units) over (partition by user_id, day) as used_then from held
            where is_current and not exists (
              select from reservations
              where user_id = held.user_id and cause = held.cause and state <> 'released'
            ) and not exists (select from budgets where user_id = held.user_id)
          ), held_day as (
            update unit_days set used = payer.used
            from (
              select distinct user_id, day, used_then::bigint as used from fitting where used_then <= daily_units
            ) as payer
            where unit_days.user_id = payer.user_id and unit_days.day = payer.day
            returning unit_days.user_id, unit_days.day
          ), reserved as (
            insert into reservations
              (id, user_id, agent_id, cause, day, state, daily_units, credit_units, holder, created_at)
            select id, user_id, agent_id, cause, day, 'reserved', units, 0, ${holder}, created_at
            from fitting join held_day using (user_id, day)
            returning id
          )
          select held.id, reserved.id is not null as is_reserved from held left join reserved using (id)`)
    )
  }
