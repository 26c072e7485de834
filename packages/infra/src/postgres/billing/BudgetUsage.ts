import { type Budget, BudgetPeriod } from "@berth/domain/billing/budgets/Budget"
import { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import { type Effect, Schema } from "effect"
import { decodeRows } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"

const Row = Schema.Struct({
  agentId: Schema.NullOr(AgentId),
  period: BudgetPeriod,
  units: UnitsColumn,
  usedUnits: UnitsColumn
})

/**
 * Sums the daily counters, which are updated in the transaction of every reservation change and outlive the
 * reservation.
 */
const readWhere = (
  sql: SqlClient,
  userId: UserId,
  day: string,
  condition: Fragment
): Effect.Effect<ReadonlyArray<Budget>, SqlError> =>
  sql`
    with bound as materialized (
      select agent_id, period, units from budgets
      where user_id = ${userId} and ${condition} and (
        agent_id is null or exists (select from agents where agents.id = budgets.agent_id and owner_id = ${userId})
      )
    ), spent as materialized (
      select agent_id, coalesce(sum(units) filter (where day = ${day}::date), 0) as of_day, sum(units) as of_month
      from agent_unit_days
      where user_id = ${userId} and day >= date_trunc('month', ${day}::date)::date
        and day < (date_trunc('month', ${day}::date) + interval '1 month')::date
      group by agent_id
    )
    select agent_id, period, units, coalesce((
      select sum(case bound.period when 'day' then of_day else of_month end) from spent
      where bound.agent_id is null or spent.agent_id = bound.agent_id
    ), 0)::bigint as used_units
    from bound order by agent_id nulls first, period`.pipe(decodeRows(Row))

/** Reads all budgets of a user, with the units of the day and its month. */
export const readBudgets = (sql: SqlClient, userId: UserId, day: string) => readWhere(sql, userId, day, sql`true`)

/** Reads the budgets of the account and of the agent. */
export const readBindingBudgets = (
  sql: SqlClient,
  { agentId, day, userId }: { readonly userId: UserId; readonly agentId: AgentId | null; readonly day: string }
) => readWhere(sql, userId, day, sql`(agent_id is null or agent_id = ${agentId}::text)`)
