import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { AgentId } from "@berth/domain/shared/AgentId"
import { McpServerRepository } from "@berth/domain/skills/mcp/McpServerRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Redacted, Schema } from "effect"
import { countAffectedRows, decodeRows } from "../Rows.ts"
import * as Repository from "../Repository.ts"

const Row = Schema.Struct({
  name: Schema.String,
  url: Schema.String,
  headersSealed: Schema.String,
  updatedAt: Schema.DateTimeUtcFromDate
})
const AgentRow = Schema.Struct({ agentId: AgentId })

const HeadersText = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Redacted(Schema.String) }))
const decodeHeaders = Schema.decode(HeadersText)
const encodeHeaders = Schema.encode(HeadersText)

const sealContext = (agentId: AgentId, name: string) => `mcp_servers.headers_sealed:${agentId}:${name}`

export const layer = Repository.layerEffect(
  McpServerRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const box = yield* SecretBox

    return McpServerRepository.of({
      list: (agentId) =>
        Effect.orDie(
          Effect.gen(function* () {
            const rows = yield* sql`
              select name, url, headers_sealed, updated_at from mcp_servers where agent_id = ${agentId} order by name`.pipe(
              decodeRows(Row)
            )
            return yield* Effect.forEach(rows, ({ headersSealed, ...server }) =>
              Effect.gen(function* () {
                const text = yield* box.open(headersSealed, sealContext(agentId, server.name))
                return { ...server, headers: yield* decodeHeaders(Redacted.value(text)) }
              })
            )
          })
        ),
      replace: (agentId, servers) =>
        Effect.orDie(
          Effect.gen(function* () {
            // Serializes concurrent changes of an agent.
            const agents = yield* sql`select from agents where id = ${agentId} for no key update`
            if (agents.length === 0) return false
            const updatedAt = DateTime.toDate(yield* DateTime.now)
            const rows = yield* Effect.forEach(servers, ({ headers, name, url }) =>
              Effect.gen(function* () {
                const text = Redacted.make(yield* encodeHeaders(headers))
                return {
                  agentId,
                  name,
                  url,
                  headersSealed: yield* box.seal(text, sealContext(agentId, name)),
                  updatedAt
                }
              })
            )
            yield* sql`delete from mcp_servers where agent_id = ${agentId}`
            if (rows.length > 0) yield* sql`insert into mcp_servers ${sql.insert(rows)}`
            return true
          })
        ),
      listAgents: (ownerId) =>
        sql`
          select id as agent_id from agents
          where owner_id = ${ownerId} and exists (select from mcp_servers where agent_id = agents.id)`.pipe(
          decodeRows(AgentRow),
          Effect.map((rows) => new Set(rows.map(({ agentId }) => agentId)))
        ),
      removeSince: (ownerId, since) =>
        countAffectedRows(sql`
          delete from mcp_servers using agents
          where agents.id = mcp_servers.agent_id and owner_id = ${ownerId}
            and mcp_servers.updated_at >= ${DateTime.toDate(since)}`)
    })
  })
)
