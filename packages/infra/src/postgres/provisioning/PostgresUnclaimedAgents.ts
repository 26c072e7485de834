import { type UnclaimedAgent, UnclaimedAgents } from "@berth/domain/provisioning/UnclaimedAgents"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { Array, Duration, Effect, Layer, Schema } from "effect"
import { decodeFirstRow, decodeRows, decodeSingleRow } from "../Rows.ts"

const Count = Schema.Struct({ count: Schema.Int })
const Owner = Schema.Struct({ ownerId: UserId })
const AgentRow = Schema.Struct({ ownerId: UserId, agentId: AgentId })

export const layer = Layer.effect(
  UnclaimedAgents,
  Effect.map(SqlClient, (sql) => {
    const count = sql`select count(*)::int as count from unclaimed_agents`.pipe(
      decodeSingleRow(Count),
      Effect.map((row) => row.count),
      Effect.orDie
    )

    const mark = (column: "stopped_at" | "removed_at", age: Duration.Duration) =>
      sql`
        update unclaimed_agents set ${sql(column)} = now()
        where ${sql(column)} is null and created_at < now() - make_interval(secs => ${Duration.toSeconds(age)})
        returning owner_id`.pipe(decodeRows(Owner), Effect.map(Array.map(({ ownerId }) => ownerId)), Effect.orDie)

    return UnclaimedAgents.of({
      count,
      insert: Effect.fn("UnclaimedAgents.insert")(function* (
        { agentId, codeHash, ownerId }: UnclaimedAgent & { readonly codeHash: string },
        maximum: number
      ) {
        // Held until the commit, so that the count is exact.
        yield* Effect.orDie(sql`select pg_advisory_xact_lock(hashtextextended('unclaimed agents', 0))`)
        if ((yield* count) >= maximum) return false
        yield* Effect.orDie(sql`
          insert into unclaimed_agents (owner_id, agent_id, code_hash, created_at)
          values (${ownerId}, ${agentId}, ${codeHash}, now())`)
        return true
      }),
      take: Effect.fn("UnclaimedAgents.take")((codeHash: string) =>
        sql`
          delete from unclaimed_agents using users
          where code_hash = ${codeHash} and removed_at is null and users.id = owner_id and users.suspended_at is null
          returning owner_id, agent_id`.pipe(decodeFirstRow(AgentRow), Effect.orDie)
      ),
      markStopped: Effect.fn("UnclaimedAgents.markStopped")((age: Duration.Duration) => mark("stopped_at", age)),
      markRemoved: Effect.fn("UnclaimedAgents.markRemoved")((age: Duration.Duration) => mark("removed_at", age))
    })
  })
)
