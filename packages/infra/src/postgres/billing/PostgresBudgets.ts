import { BudgetAgentNotFound, type BudgetLimit } from "@berth/domain/billing/budgets/Budget"
import { Budgets } from "@berth/domain/billing/budgets/Budgets"
import { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Layer, Schema } from "effect"
import { decodeRows } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { lockCreditUnits } from "./BalanceLocks.ts"
import { readBudgets } from "./BudgetUsage.ts"
import { today } from "./DayReservation.ts"

const AgentRow = Schema.Struct({ id: AgentId })

export const layer: Layer.Layer<Budgets, never, SqlClient> = Layer.effect(
  Budgets,
  Effect.map(SqlClient, (sql) =>
    Budgets.of({
      list: Effect.fn("Budgets.list")(function* (userId: UserId) {
        return yield* Effect.orDie(readBudgets(sql, userId, yield* today))
      }),
      // Lock order: agents, user, budgets. The deletion of an agent settles its turns, which lock the user.
      replace: Effect.fn("Budgets.replace")((userId: UserId, limits: ReadonlyArray<BudgetLimit>) =>
        sql
          .withTransaction(
            Effect.gen(function* () {
              const named = [...new Set(limits.flatMap(({ agentId }) => (agentId === null ? [] : [agentId])))]
              const found = yield* sql`
                select id from agents
                where owner_id = ${userId} and id = any(${named.map(toStorableText)}::text[])
                order by id for key share`.pipe(decodeRows(AgentRow))
              const missing = named.filter((agentId) => !found.some(({ id }) => id === agentId))
              if (missing.length > 0) return yield* new BudgetAgentNotFound({ agentIds: missing })
              yield* lockCreditUnits(sql, userId)
              yield* sql`delete from budgets where user_id = ${userId}`
              if (limits.length > 0)
                yield* sql`insert into budgets ${sql.insert(limits.map((limit) => ({ ...limit, userId })))}`
            })
          )
          .pipe(Effect.catchTag("SqlError", Effect.die))
      )
    })
  )
)
