import type { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"
import { SkillCode, SkillTool } from "@berth/domain/skills/SkillCode"
import type { UploadedSkill } from "@berth/domain/skills/uploads/SkillPackage"
import { type StoredSkill, UploadedSkillRepository } from "@berth/domain/skills/uploads/UploadedSkillRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Schema } from "effect"
import { affectsRow, countAffectedRows, decodeRows, decodeSingleRow, execute } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"

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

export const layer: Layer.Layer<UploadedSkillRepository, never, SqlClient> = Layer.effect(
  UploadedSkillRepository,
  Effect.map(SqlClient, (sql) => {
    const select = (agentId: AgentId, files = sql`files`) =>
      sql`
        select id, name, description, instructions, tools, ${files} as files, size, created_at, updated_at
        from uploaded_skills where agent_id = ${agentId} order by id`.pipe(
        decodeRows(Row),
        Effect.map((rows) => rows.map(toSkill))
      )
    return UploadedSkillRepository.of({
      list: Effect.fn("UploadedSkillRepository.list")((agentId: AgentId) => select(agentId, sql`'{}'::jsonb`)),
      read: Effect.fn("UploadedSkillRepository.read")((agentId: AgentId) => select(agentId)),
      sumOthers: Effect.fn("UploadedSkillRepository.sumOthers")(function* (
        ownerId: UserId,
        agentId: AgentId,
        id: string
      ) {
        yield* execute(sql`select pg_advisory_xact_lock(hashtextextended(${`skills of ${ownerId}`}, 0))`)
        const { bytes } = yield* sql`
          select coalesce(sum(size), 0)::int as bytes
          from uploaded_skills join agents on agents.id = uploaded_skills.agent_id
          where owner_id = ${ownerId} and (agent_id, uploaded_skills.id) <> (${agentId}, ${id})`.pipe(
          decodeSingleRow(Sum)
        )
        return bytes
      }),
      save: Effect.fn("UploadedSkillRepository.save")(function* (agentId: AgentId, skill: UploadedSkill) {
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
      remove: Effect.fn("UploadedSkillRepository.remove")((agentId: AgentId, id: string) =>
        affectsRow(sql`delete from uploaded_skills where agent_id = ${agentId} and id = ${toStorableText(id)}`)
      ),
      removeSince: Effect.fn("UploadedSkillRepository.removeSince")((ownerId: UserId, since: DateTime.Utc) =>
        countAffectedRows(sql`
          delete from uploaded_skills using agents
          where agents.id = uploaded_skills.agent_id and owner_id = ${ownerId}
            and uploaded_skills.updated_at >= ${DateTime.toDate(since)}`)
      )
    })
  })
)
