import type { AgentId } from "@berth/domain/shared/AgentId"
import { SkillCode, SkillTool } from "@berth/domain/skills/SkillCode"
import { type StoredSkill, UploadedSkillRepository } from "@berth/domain/skills/uploads/UploadedSkillRepository"
import { DateTime, Effect, Schema } from "effect"
import { affectsRow, countAffectedRows, decodeSingleRow, execute, mapRows } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const Row = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  description: Schema.String,
  instructions: Schema.String,
  tools: Schema.Array(SkillTool),
  files: SkillCode.fields.files,
  size: Schema.Int,
  createdAt: Schema.DateTimeUtcFromDate,
  updatedAt: Schema.DateTimeUtcFromDate
})
const Sum = Schema.Struct({ bytes: Schema.Int })

const toSkill = ({ files, tools, ...row }: typeof Row.Type): StoredSkill => ({
  ...row,
  tools: tools.map(({ name }) => name),
  basic: true,
  code: { tools, files }
})

export const layer = Repository.layer(UploadedSkillRepository, (sql) => {
  const select = (agentId: AgentId, files = sql`files`) =>
    sql`
      select id, name, description, instructions, tools, ${files} as files, size, created_at, updated_at
      from uploaded_skills where agent_id = ${agentId} order by id`.pipe(mapRows(Row, toSkill))
  return {
    list: (agentId) => select(agentId, sql`'{}'::jsonb`),
    read: (agentId) => select(agentId),
    sumOthers: (ownerId, agentId, id) =>
      Effect.gen(function* () {
        yield* execute(sql`select pg_advisory_xact_lock(hashtextextended(${`skills of ${ownerId}`}, 0))`)
        const { bytes } = yield* sql`
          select coalesce(sum(size), 0)::int as bytes
          from uploaded_skills join agents on agents.id = uploaded_skills.agent_id
          where owner_id = ${ownerId} and (agent_id, uploaded_skills.id) <> (${agentId}, ${id})`.pipe(
          decodeSingleRow(Sum)
        )
        return bytes
      }),
    save: (agentId, skill) =>
      Effect.gen(function* () {
        const now = DateTime.toDate(yield* DateTime.now)
        const row = yield* sql`
          insert into uploaded_skills ${sql.insert({
            agentId,
            id: skill.id,
            name: toStorableText(skill.name),
            description: toStorableText(skill.description),
            instructions: toStorableText(skill.instructions),
            tools: toStorableJson(skill.code.tools),
            files: toStorableJson(skill.code.files),
            size: skill.size,
            createdAt: now,
            updatedAt: now
          })}
          on conflict (agent_id, id) do update set name = excluded.name, description = excluded.description,
            instructions = excluded.instructions, tools = excluded.tools, files = excluded.files, size = excluded.size,
            updated_at = excluded.updated_at
          returning *`.pipe(decodeSingleRow(Row))
        return toSkill(row)
      }),
    remove: (agentId, id) =>
      affectsRow(sql`delete from uploaded_skills where agent_id = ${agentId} and id = ${toStorableText(id)}`),
    removeSince: (ownerId, since) =>
      countAffectedRows(sql`
        delete from uploaded_skills using agents
        where agents.id = uploaded_skills.agent_id and owner_id = ${ownerId}
          and uploaded_skills.updated_at >= ${DateTime.toDate(since)}`)
  }
})
