import { UnclaimedAgents } from "@berth/domain/provisioning/UnclaimedAgents"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { Duration, Option, Schema } from "effect"
import { decodeFirstRow, decodeRows, decodeSingleRow, execute } from "../Rows.ts"
import * as Repository from "../Repository.ts"

const Count = Schema.Struct({ total: Schema.Int, ofNetwork: Schema.Int })
const AgentRow = Schema.Struct({ ownerId: UserId, agentId: AgentId })

export const layer = Repository.layer(
  UnclaimedAgents,
  (sql) => {
    const mark = (column: "stopped_at" | "removed_at", age: Duration.Duration) =>
      sql`
        update unclaimed_agents set ${sql(column)} = now()
        where ${sql(column)} is null and created_at < now() - make_interval(secs => ${Duration.toSeconds(age)})
        returning owner_id, agent_id`.pipe(decodeRows(AgentRow))

    return {
      count: (network) =>
        sql`
          select count(*)::int as total, count(*) filter (where network = ${Option.getOrNull(network)})::int as of_network
          from unclaimed_agents`.pipe(decodeSingleRow(Count)),
      lock: execute(sql`select pg_advisory_xact_lock(hashtextextended('unclaimed agents', 0))`),
      insert: ({ agentId, codeHash, network, ownerId }) =>
        execute(sql`
          insert into unclaimed_agents (owner_id, agent_id, code_hash, network, created_at)
          values (${ownerId}, ${agentId}, ${codeHash}, ${Option.getOrNull(network)}, now())`),
      take: (codeHash) =>
        sql`
          delete from unclaimed_agents using users
          where code_hash = ${codeHash} and removed_at is null and users.id = owner_id and users.suspended_at is null
          returning owner_id, agent_id`.pipe(decodeFirstRow(AgentRow)),
      markStopped: (age) => mark("stopped_at", age),
      markRemoved: (age) => mark("removed_at", age)
    }
  },
  { untraced: ["lock"] }
)
