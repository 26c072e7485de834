import { computeRoom } from "@berth/domain/billing/budgets/Budget"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import type { ReservationExtension } from "@berth/domain/billing/units/ReservationRepository"
import { extendSplit } from "@berth/domain/billing/units/UnitSplit"
import { noUnits, Units } from "@berth/domain/shared/Money"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Option, Schema } from "effect"
import { isInTransaction } from "../DirectQueries.ts"
import { decodeFirstRow } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { toStorableText } from "../StorableText.ts"
import { readBindingBudgets } from "./BudgetUsage.ts"
import { lockCreditUnits, lockDailyUnits } from "./BalanceLocks.ts"
import type { LimitPerUser } from "./UserLimit.ts"

const OpenReservation = Schema.Struct({
  userId: UserId,
  agentId: Schema.NullOr(AgentId),
  day: Schema.String,
  daily: UnitsColumn,
  credit: UnitsColumn
})

const Owner = Schema.Struct({ userId: UserId })

/** Raises open reservations. Lock order: reservation, day, user. */
export const makeExtendReservation = (sql: SqlClient, limitPerUser: LimitPerUser) => {
  const extendLocked = ({ dailyUnitsOf, id, units }: ReservationExtension) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const open = yield* sql`
          select user_id, agent_id, day::text as day, daily_units as daily, credit_units as credit from reservations
          where id = ${id} and state = 'reserved' for update`.pipe(decodeFirstRow(OpenReservation))
        if (Option.isNone(open)) return noUnits
        const { agentId, day, userId, ...reserved } = open.value
        const total = reserved.daily + reserved.credit
        if (total >= units) return Units(total)
        const { daily, hasBudgets } = yield* lockDailyUnits(sql, userId, day, dailyUnitsOf)
        const credit = yield* lockCreditUnits(sql, userId)
        const room = hasBudgets ? computeRoom(yield* readBindingBudgets(sql, { userId, agentId, day })) : units
        const extended = extendSplit(reserved, { daily, credit }, Units(Math.min(units, total + room)))
        yield* sql`
          update unit_days set used = used + ${extended.daily - reserved.daily}
          where user_id = ${userId} and day = ${day}::date`
        if (extended.credit > reserved.credit)
          yield* sql`
            update users set credit_units = credit_units - ${extended.credit - reserved.credit} where id = ${userId}`
        yield* sql`
          update reservations set daily_units = ${extended.daily}, credit_units = ${extended.credit} where id = ${id}`
        return Units(extended.daily + extended.credit)
      })
    )

  const extendLimited = (extension: ReservationExtension) =>
    Effect.flatMap(
      sql`select user_id from reservations where id = ${extension.id}`.pipe(decodeFirstRow(Owner)),
      Option.match({
        onNone: () => Effect.succeed(noUnits),
        onSome: ({ userId }) => limitPerUser(userId, extendLocked(extension))
      })
    )

  return ({ dailyUnitsOf, id, units }: ReservationExtension) => {
    const extension = { id: ReservationId.make(toStorableText(id)), units, dailyUnitsOf }
    return Effect.withFiberRuntime<Units, SqlError>(({ currentContext }) =>
      isInTransaction(currentContext) ? extendLocked(extension) : extendLimited(extension)
    ).pipe(Effect.orDie)
  }
}
