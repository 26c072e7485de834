import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { AgentRun, AgentRunId, refusalPause, SkillInput } from "@berth/domain/schedules/runs/AgentRun"
import { AgentRunRepository } from "@berth/domain/schedules/runs/AgentRunRepository"
import { ScheduleId } from "@berth/domain/schedules/Schedule"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { DateTime, Duration, Effect, Schema } from "effect"
import { affectsRow, countAffectedRows, decodeFirstRow, decodeRows, execute, listColumns, readCount } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const date = Schema.NullOr(Schema.DateTimeUtcFromDate)
const RunRow = Schema.Struct({
  ...AgentRun.fields,
  dueAt: date,
  createdAt: Schema.DateTimeUtcFromDate,
  startedAt: date,
  endedAt: date
})
const LastRow = Schema.Struct({ ...RunRow.fields, scheduleId: ScheduleId })
const StartedRow = Schema.Struct({
  id: AgentRunId,
  agentId: AgentId,
  scheduleId: Schema.NullOr(ScheduleId),
  prompt: Schema.NullOr(Schema.String),
  skillId: Schema.NullOr(Schema.String),
  input: Schema.NullOr(SkillInput),
  ownerId: UserId,
  agentStatus: AgentStatus,
  isSuspended: Schema.Boolean
})
const columns = listColumns("agent_runs", RunRow)

const textOrNull = (text: string | null) => (text === null ? null : toStorableText(text))

export const layer = Repository.layer(AgentRunRepository, (sql) => {
  const fields = sql.literal(columns)
  return {
    insert: (run) =>
      Effect.gen(function* () {
        const now = DateTime.toDate(yield* DateTime.now)
        const inserted = yield* sql`
          insert into agent_runs ${sql.insert({
            id: run.id,
            agentId: run.agentId,
            scheduleId: run.tick?.scheduleId ?? null,
            dueAt: run.tick === null ? null : DateTime.toDate(run.tick.dueAt),
            prompt: textOrNull(run.prompt),
            skillId: textOrNull(run.skillId),
            input: run.input === null ? null : toStorableJson(run.input),
            state: run.state,
            reason: run.reason,
            createdAt: now,
            endedAt: run.state === "waiting" ? null : now
          })} on conflict on constraint agent_runs_tick_key do nothing returning id`.pipe(Effect.orDie)
        return inserted.length === 1
      }),
    repeatRefusal: (scheduleId, times) =>
      affectsRow(sql`
        update agent_runs set repeats = repeats + ${times}
        where id = (select id from agent_runs where schedule_id = ${scheduleId} order by due_at desc limit 1)
          and state = 'refused' and ended_at > now() - make_interval(secs => ${Duration.toSeconds(refusalPause)})`),
    countInProgress: (scheduleId) =>
      readCount(sql`
        select count(*)::int from agent_runs where schedule_id = ${scheduleId} and ended_at is null`),
    countSkillRunsInProgress: (agentId) =>
      Effect.gen(function* () {
        yield* execute(sql`select pg_advisory_xact_lock(hashtextextended(${`skill runs of ${agentId}`}, 0))`)
        return yield* readCount(sql`
          select count(*)::int from agent_runs
          where agent_id = ${agentId} and schedule_id is null and ended_at is null`)
      }),
    listOfSchedule: (scheduleId, { limit, offset }) =>
      Effect.gen(function* () {
        const runs = yield* sql`
          select ${fields} from agent_runs where schedule_id = ${scheduleId}
          order by due_at desc limit ${limit} offset ${offset}`.pipe(decodeRows(RunRow))
        const total = yield* readCount(sql`
          select count(*)::int from agent_runs where schedule_id = ${scheduleId}`)
        return { runs, total }
      }),
    findOfSkill: (agentId, skillId, id) =>
      sql`
        select ${fields} from agent_runs
        where id = ${toStorableText(id)} and agent_id = ${agentId} and skill_id = ${toStorableText(skillId)}
          and schedule_id is null`.pipe(decodeFirstRow(RunRow)),
    findLast: (agentId) =>
      sql`
        select ${fields}, schedules.id as schedule_id from schedules cross join lateral (
          select * from agent_runs where agent_runs.schedule_id = schedules.id order by due_at desc limit 1
        ) agent_runs
        where schedules.agent_id = ${agentId}`.pipe(
        decodeRows(LastRow),
        Effect.map((rows) => new Map(rows.map(({ scheduleId, ...run }) => [scheduleId, run])))
      ),
    begin: (id) =>
      sql`
        update agent_runs set state = 'running', started_at = coalesce(started_at, now())
        from agents join users on users.id = agents.owner_id
        where agent_runs.id = ${id} and agent_runs.ended_at is null and agents.id = agent_runs.agent_id
        returning agent_runs.id, agent_runs.agent_id, agent_runs.schedule_id, agent_runs.prompt, agent_runs.skill_id,
          agent_runs.input, agents.owner_id, agents.status as agent_status,
          users.suspended_at is not null as is_suspended`.pipe(decodeFirstRow(StartedRow)),
    finish: (id, turnId, { reason, result, state }) =>
      affectsRow(sql`
        update agent_runs
        set state = ${state}, reason = ${textOrNull(reason)}, result = ${textOrNull(result)}, ended_at = now(), units = (
          select coalesce(sum(settled_daily_units + settled_credit_units), 0)::int
          from reservations join agents on agents.owner_id = reservations.user_id
          where agents.id = agent_runs.agent_id and reservations.cause = ${turnId} and reservations.state = 'settled'
        )
        where id = ${id} and ended_at is null`),
    failLost: countAffectedRows(sql`
      update agent_runs set state = 'failed', reason = 'The job of the run was lost.', ended_at = now(), units = 0
      where ended_at is null and created_at < now() - interval '1 day'`),
    prune: (before, kept) =>
      countAffectedRows(sql`
        with surplus as (
          select schedules.id as schedule_id, oldest.due_at from schedules cross join lateral (
            select due_at from agent_runs where schedule_id = schedules.id order by due_at desc offset ${kept} limit 1
          ) oldest
        )
        delete from agent_runs where ended_at < ${DateTime.toDate(before)} or ended_at is not null and exists (
          select from surplus
          where surplus.schedule_id = agent_runs.schedule_id and surplus.due_at >= agent_runs.due_at
        )`)
  }
})
