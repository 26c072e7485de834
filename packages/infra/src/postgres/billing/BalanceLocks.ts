import type { UnitPayer } from "@berth/domain/billing/units/ReservationRepository"
import { computeUnitUsage } from "@berth/domain/billing/units/UnitSplit"
import { Units } from "@berth/domain/shared/Money"
import { PlanId } from "@berth/domain/shared/PlanId"
import type { UserId } from "@berth/domain/shared/UserId"
import type { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Schema } from "effect"
import { decodeSingleRow } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"

const Payer = Schema.Struct({
  used: UnitsColumn,
  hasBudgets: Schema.Boolean,
  plan: PlanId,
  emailVerifiedAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
})
const Credits = Schema.Struct({ creditUnits: UnitsColumn })

/** Day of `unit_days`. */
export const today = Effect.map(DateTime.now, DateTime.formatIsoDateUtc)

/** Locks the day's row until commit. Returns the remaining daily units, and whether budgets apply to the user. */
export const lockDailyUnits = (
  sql: SqlClient,
  userId: UserId,
  day: string,
  dailyUnitsOf: (payer: UnitPayer) => Units
) =>
  sql`
    with today as (
      insert into unit_days (user_id, day, used) values (${userId}, ${day}::date, 0)
      on conflict (user_id, day) do update set used = unit_days.used
      returning used
    )
    select today.used, users.plan, users.email_verified_at,
      exists (select from budgets where budgets.user_id = users.id) as has_budgets
    from today, users where users.id = ${userId}`.pipe(
    decodeSingleRow(Payer),
    Effect.map((payer) => ({
      daily: computeUnitUsage(dailyUnitsOf(payer), payer.used).remaining,
      hasBudgets: payer.hasBudgets
    }))
  )

/** Locks the user's row until commit. Returns the units of the credits; a negative balance counts as zero. */
export const lockCreditUnits = (sql: SqlClient, userId: UserId) =>
  sql`select credit_units from users where id = ${userId} for no key update`.pipe(
    decodeSingleRow(Credits),
    Effect.map(({ creditUnits }) => Units(Math.max(0, creditUnits)))
  )
