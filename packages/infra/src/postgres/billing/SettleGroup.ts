import type { ReservationId } from "@berth/domain/billing/units/Reservation"
import { UserId } from "@berth/domain/shared/UserId"
import type { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Schema } from "effect"
import type { Directly } from "../DirectQueries.ts"
import { selectRequests } from "../RequestTable.ts"
import { mapRows } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { bookSettled } from "./LedgerWriter.ts"

/** Units to book of a reservation, with its next state and the ids of its ledger entries. `id`: the entry of the allowance. */
export interface GroupedSettlement {
  readonly id: string
  readonly reservationId: ReservationId
  readonly state: "settled" | "released"
  readonly units: number
  readonly model: string | null
  readonly usageEntry: string
  readonly at: DateTime.Utc
}

const decodeOutcomes = mapRows(
  Schema.Struct({ id: Schema.String, userId: UserId, isOpen: Schema.Boolean, units: Schema.NullOr(UnitsColumn) }),
  (outcome) => [outcome.id, outcome] as const
)

/**
 * Closes several reservations of daily units in one statement. Returns the user of each, whether it was open, and the
 * units booked. Units are null for closed reservations, and for those that need their own statement: with credits, or
 * with a locked day or user. Reservations that are locked are missing. As the statement for one reservation, it changes
 * days before reservations.
 */
export const makeSettleGroup = (sql: SqlClient, directly: Directly) => (requests: ReadonlyArray<GroupedSettlement>) => {
  // Two settlements of one reservation would return its units twice.
  const group = Array.from(new Map(requests.map((each) => [each.reservationId, each])).values())
  const request = selectRequests(sql, group, {
    reservationId: ["text", ({ reservationId }) => reservationId],
    nextState: ["text", ({ state }) => state],
    units: ["bigint", ({ units }) => units],
    model: ["text", ({ model }) => model],
    allowanceEntry: ["text", ({ id }) => id],
    usageEntry: ["text", ({ usageEntry }) => usageEntry],
    at: ["timestamptz", ({ at }) => DateTime.formatIso(at)]
  })
  return decodeOutcomes(
    directly(sql`
          with request as materialized (${request}), locked as materialized (
            select request.*, reservation.user_id, day, state, daily_units, credit_units, is_unlocked,
              least(daily_units, units) as booked, coalesce(request.model, reservation.model) as booked_model
            from request cross join lateral (
              select user_id, day, state, daily_units, credit_units, model from reservations
              where id = request.reservation_id for update skip locked
            ) as reservation
            left join lateral (
              select true as is_unlocked from users where id = reservation.user_id for key share skip locked
            ) as payer on true
          ), open as materialized (
            select * from locked where state = 'reserved' and credit_units = 0 and is_unlocked
          ), held_day as materialized (
            select returned.user_id, returned.day, used - units as used
            from (
              select user_id, day, sum(daily_units - booked)::bigint as units from open
              group by user_id, day having sum(daily_units - booked) > 0
            ) as returned
            cross join lateral (
              select used from unit_days where user_id = returned.user_id and day = returned.day
              for no key update skip locked
            ) as today
          ), closable as materialized (
            select open.* from open left join held_day using (user_id, day)
            where booked = daily_units or held_day.used is not null
          ), returned_day as (
            update unit_days set used = held_day.used from held_day
            where unit_days.user_id = held_day.user_id and unit_days.day = held_day.day
            returning unit_days.user_id
          ), settled as (
            update reservations
            set state = next_state, daily_units = closable.daily_units, settled_daily_units = booked, credit_units = 0,
              settled_credit_units = 0, model = booked_model
            from closable, (select count(*) from returned_day) as days
            where reservations.id = closable.reservation_id
            returning reservations.id as held_by, reservations.user_id as payer_id, cause, booked as daily_units,
              0 as credit_units, allowance_entry, usage_entry, null as credits_entry, null as credit_usage_entry, at
          ), ${bookSettled(sql)}
          select locked.allowance_entry as id, locked.user_id, state = 'reserved' as is_open,
            settled.daily_units as units
          from locked left join settled using (allowance_entry)`)
  )
}
