import { AgentLog } from "@berth/domain/instances/AgentLog"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { RuntimeLogEntry, type RuntimeLogQuery } from "@berth/domain/instances/RuntimeLog"
import type { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Schema } from "effect"
import { countAffectedRows, decodeRows, execute, readCount } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const EntryRow = Schema.Struct({ ...RuntimeLogEntry.fields, timestamp: Schema.DateTimeUtcFromDate })

export const layer = Repository.layerEffect(
  AgentLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ids = yield* IdGenerator

    const matching = (ownerId: UserId, { agentId, level }: RuntimeLogQuery) =>
      sql.and([
        sql`agents.owner_id = ${ownerId}`,
        ...(agentId === undefined ? [] : [sql`entry.agent_id = ${toStorableText(agentId)}`]),
        ...(level === undefined ? [] : [sql`entry.level = ${level}`])
      ])

    return AgentLog.of({
      append: (agentId, level, message) =>
        Effect.gen(function* () {
          yield* execute(sql`
            insert into agent_log_entries (id, agent_id, level, message, created_at)
            select ${yield* ids.next("log")}, id, ${level}, ${toStorableText(message)},
              ${DateTime.toDate(yield* DateTime.now)}::timestamptz
            from agents where id = ${agentId}`)
        }),
      read: (ownerId, query) =>
        Effect.gen(function* () {
          const where = matching(ownerId, query)
          const entries = yield* sql`
            select entry.id, entry.created_at as timestamp, entry.level, entry.message, 'host' as source, entry.agent_id
            from agent_log_entries as entry join agents on agents.id = entry.agent_id
            where ${where} order by entry.created_at desc, entry.id desc limit ${query.limit}`.pipe(
            decodeRows(EntryRow)
          )
          const total = yield* readCount(sql`
            select count(*)::int from agent_log_entries as entry join agents on agents.id = entry.agent_id
            where ${where}`)
          return { entries, total }
        }),
      prune: (before) =>
        countAffectedRows(sql`delete from agent_log_entries where created_at < ${DateTime.toDate(before)}`)
    })
  })
)
