import { BudgetAgentNotFound, Budgets } from "@berth/domain/billing/budgets/Budget"
import { AgentId } from "@berth/domain/shared/AgentId"
import { Effect, Schema } from "effect"
import { decodeRows } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { lockCreditUnits, today } from "./BalanceLocks.ts"
import { readBudgets } from "./BudgetUsage.ts"
import * as Repository from "../Repository.ts"

const AgentRow = Schema.Struct({ id: AgentId })

export const layer = Repository.layer(Budgets, (sql) => ({
  list: (userId) =>
    Effect.gen(function* () {
      return yield* Effect.orDie(readBudgets(sql, userId, yield* today))
    }),
  // Lock order: agents, user, budgets. The deletion of an agent settles its turns, which lock the user.
  replace: (userId, limits) =>
    sql
      .withTransaction(
        Effect.gen(function* () {
          const named = [...new Set(limits.flatMap(({ agentId }) => (agentId === null ? [] : [agentId])))]
          const rows = yield* sql`
            select id from agents
            where owner_id = ${userId} and id = any(${named.map(toStorableText)}::text[])
            order by id for key share`.pipe(decodeRows(AgentRow))
          const missing = named.filter((agentId) => !rows.some(({ id }) => id === agentId))
          if (missing.length > 0) return yield* new BudgetAgentNotFound({ agentIds: missing })
          yield* lockCreditUnits(sql, userId)
          yield* sql`delete from budgets where user_id = ${userId}`
          if (limits.length > 0)
            yield* sql`insert into budgets ${sql.insert(limits.map((limit) => ({ ...limit, userId })))}`
        })
      )
      .pipe(Effect.catchTag("SqlError", Effect.die))
}))
