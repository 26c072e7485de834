import { Agent } from "@berth/domain/agents/Agent"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { withExportedSpan } from "@berth/domain/shared/SpanExport"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Option, Schema } from "effect"
import { makeDirectly } from "../DirectQueries.ts"
import { preparedMark } from "../PreparedStatements.ts"
import {
  affectsRow,
  decodeFirstRow,
  decodeRows,
  execute,
  listColumns,
  mapFirstRow,
  mapRows,
  readCount
} from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"
import * as Repository from "../Repository.ts"

const AgentRow = Schema.Struct({
  ...Agent.fields,
  createdAt: Schema.DateTimeUtcFromDate,
  updatedAt: Schema.DateTimeUtcFromDate
})
// Already validated by the row's schema.
const toAgent = (row: typeof AgentRow.Type) => new Agent(row, { disableValidation: true })
const columns = listColumns("agents", AgentRow)

const decodeAgent = decodeFirstRow(AgentRow)

const AgentStatusRow = Schema.Struct({ id: Agent.fields.id, status: Agent.fields.status })

export const layer = Repository.layerEffect(
  AgentRepository,
  Effect.map(Effect.all([SqlClient, makeDirectly]), ([sql, directly]) =>
    AgentRepository.of({
      // Avoids the user's row: provisioning and billing would block each other, and a user without a row could not be
      // locked.
      lockOwner: (ownerId) =>
        execute(sql`select pg_advisory_xact_lock(hashtextextended(${`agents of ${ownerId}`}, 0))`),
      countTowardsLimit: (ownerId) =>
        readCount(sql`
          select count(*)::int from agents where owner_id = ${ownerId} and status <> 'error'`),
      insert: (agent) =>
        execute(
          sql`insert into agents ${sql.insert({
            id: agent.id,
            ownerId: agent.ownerId,
            name: toStorableText(agent.name),
            model: toStorableText(agent.model),
            customModel: agent.customModel === null ? null : toStorableText(agent.customModel),
            status: agent.status,
            config: toStorableJson(agent.config),
            createdAt: DateTime.toDate(agent.createdAt),
            updatedAt: DateTime.toDate(agent.updatedAt)
          })}`
        ),
      transfer: (id, from, to) =>
        Effect.gen(function* () {
          const now = DateTime.toDate(yield* DateTime.now)
          const row = yield* sql`
            update agents set owner_id = ${to}, status = 'provisioning', created_at = ${now}, updated_at = ${now}
            where id = ${id} and owner_id = ${from} returning *`.pipe(decodeFirstRow(AgentRow))
          return Option.map(row, toAgent)
        }),
      find: (id) => sql`select * from agents where id = ${toStorableText(id)}`.pipe(mapFirstRow(AgentRow, toAgent)),
      findOwned: Effect.fnUntraced(function* (ownerId: UserId, id: AgentId) {
        // Hot path: runs for every message.
        const row = directly(sql`
          select ${sql.literal(columns)} from agents where id = ${toStorableText(id)} and owner_id = ${ownerId}`)
        return Option.map(yield* decodeAgent(row), toAgent)
      }, withExportedSpan("AgentRepository.findOwned")),
      findStatuses: (ids) =>
        sql`select id, status from agents where ${sql.in("id", ids.map(toStorableText))}`.pipe(
          decodeRows(AgentStatusRow),
          Effect.map((rows) => new Map(rows.map(({ id, status }) => [id, status])))
        ),
      listOwned: (ownerId) =>
        sql`${sql.literal(preparedMark)}
          select ${sql.literal(columns)} from agents where owner_id = ${ownerId} order by created_at desc, id desc`.pipe(
          mapRows(AgentRow, toAgent)
        ),
      updateConfiguration: (id, { config, model }) =>
        Effect.gen(function* () {
          const now = yield* DateTime.now
          const columns = [
            sql`updated_at = ${DateTime.toDate(now)}`,
            ...(config === undefined ? [] : [sql`config = config || ${toStorableJson(config)}::jsonb`]),
            ...(model === undefined
              ? []
              : [
                  sql`model = ${toStorableText(model.model)}`,
                  sql`custom_model = ${model.customModel === null ? null : toStorableText(model.customModel)}`
                ])
          ]
          const row = yield* sql`
            update agents set ${sql.csv(columns)}
            where id = ${id}
            returning *`.pipe(decodeFirstRow(AgentRow))
          return Option.map(row, toAgent)
        }),
      // Updates in SQL, so that concurrent changes are all kept.
      setSkill: (id, skillId, enabled) =>
        Effect.gen(function* () {
          const now = DateTime.toDate(yield* DateTime.now)
          const skill = toStorableText(skillId)
          const skills = enabled
            ? sql`case when config->'skills' @> to_jsonb(${skill}::text) then config->'skills'
              else config->'skills' || to_jsonb(${skill}::text) end`
            : sql`(config->'skills') - ${skill}::text`
          const row = yield* sql`
            update agents set config = jsonb_set(config, '{skills}', ${skills}), updated_at = ${now}
            where id = ${id}
            returning *`.pipe(decodeFirstRow(AgentRow))
          return Option.map(row, toAgent)
        }),
      remove: (id) => affectsRow(sql`delete from agents where id = ${id}`),
      changeStatus: (id, from, to) =>
        Effect.gen(function* () {
          const now = yield* DateTime.now
          return yield* affectsRow(sql`
            update agents set status = ${to}, updated_at = ${DateTime.toDate(now)}
            where id = ${id} and status = ${from}`)
        }),
      listStalledProvisioning: (before) =>
        sql`
          select * from agents where status = 'provisioning' and updated_at < ${DateTime.toDate(before)}
          order by updated_at`.pipe(mapRows(AgentRow, toAgent))
    })
  ),
  { untraced: ["findOwned"] }
)
