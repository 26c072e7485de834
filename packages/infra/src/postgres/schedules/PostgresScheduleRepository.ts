import { Schedule, type ScheduleId } from "@berth/domain/schedules/Schedule"
import { ScheduleRepository } from "@berth/domain/schedules/ScheduleRepository"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Duration, Effect, Option, Schema, Scope } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, decodeSingleRow, execute, mapRows, readCount } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import { makeWakeups } from "../Wakeups.ts"
import * as Repository from "../Repository.ts"

const channel = "berth_schedules"
const maximumWait = Duration.minutes(1)

const ScheduleRow = Schema.Struct({
  ...Schedule.fields,
  createdAt: Schema.DateTimeUtcFromDate,
  updatedAt: Schema.DateTimeUtcFromDate
})
const ClaimedRow = Schema.Struct({
  ...ScheduleRow.fields,
  ownerId: UserId,
  nextDueAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  isPlannedInFuture: Schema.Boolean,
  now: Schema.DateTimeUtcFromDate
})
const Wait = Schema.Struct({ seconds: Schema.NullOr(Schema.Number) })

export const layer = Repository.layerEffect(
  ScheduleRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const scope = yield* Effect.scope
    const wakeups = yield* makeWakeups(channel)
    const changed = yield* Effect.cached(Effect.provideService(wakeups.subscribe("", maximumWait), Scope.Scope, scope))
    const notify = execute(sql`select pg_notify(${channel}, '')`)

    const find = (agentId: AgentId, id: ScheduleId, locking = sql``) =>
      sql`select * from schedules where agent_id = ${agentId} and id = ${toStorableText(id)} ${locking}`.pipe(
        decodeFirstRow(ScheduleRow)
      )

    const columnsOf = ({
      createdAt,
      cron,
      enabled,
      input,
      kind,
      onMissed,
      prompt,
      skillId,
      timezone,
      updatedAt
    }: Schedule) => ({
      kind,
      cron: toStorableText(cron),
      timezone,
      prompt: prompt === null ? null : toStorableText(prompt),
      skillId: skillId === null ? null : toStorableText(skillId),
      input: input === null ? null : toStorableJson(input),
      onMissed,
      enabled,
      createdAt: DateTime.toDate(createdAt),
      updatedAt: DateTime.toDate(updatedAt)
    })

    return ScheduleRepository.of({
      insert: (schedule, maximum) =>
        Effect.gen(function* () {
          const count = yield* sql
            .withTransaction(
              Effect.gen(function* () {
                // Locked until the commit, so that the count is exact.
                yield* sql`select pg_advisory_xact_lock(hashtextextended(${`schedules of ${schedule.agentId}`}, 0))`
                const count = yield* readCount(sql`
                  select count(*)::int from schedules
                  where agent_id = ${schedule.agentId} and kind <> 'heartbeat'`)
                if (count < maximum)
                  yield* sql`insert into schedules ${sql.insert({
                    id: schedule.id,
                    agentId: schedule.agentId,
                    ...columnsOf(schedule)
                  })}`
                return count
              })
            )
            .pipe(Effect.orDie)
          yield* notify
          return count
        }),
      list: (agentId) =>
        sql`select * from schedules where agent_id = ${agentId} order by created_at, id`.pipe(decodeRows(ScheduleRow)),
      find: (agentId, id) => find(agentId, id),
      lock: (agentId, id) => find(agentId, id, sql`for update`),
      update: (schedule) =>
        Effect.gen(function* () {
          yield* execute(sql`
            update schedules set ${sql.update(columnsOf(schedule))}, next_due_at = null, planned_at = null
            where id = ${schedule.id} and agent_id = ${schedule.agentId}`)
          yield* notify
        }),
      remove: (agentId, id) =>
        affectsRow(sql`delete from schedules where agent_id = ${agentId} and id = ${toStorableText(id)}`),
      removeSince: (ownerId, since) =>
        execute(sql`
          delete from schedules using agents
          where agents.id = schedules.agent_id and owner_id = ${ownerId} and kind <> 'heartbeat'
            and schedules.updated_at >= ${DateTime.toDate(since)}`),
      claimDue: (limit) =>
        sql`
          select schedules.*, agents.owner_id,
            coalesce(planned_at > now() + interval '1 minute', false) as is_planned_in_future, now() as now
          from schedules join agents on agents.id = schedules.agent_id
          where enabled and schedules.id in (
            select id from schedules where enabled and planned_at is null
            union select id from schedules where enabled and next_due_at <= now()
            union select id from schedules where enabled and planned_at > now() + interval '1 minute'
          )
          order by next_due_at limit ${limit}
          -- The deletion of an agent locks the agent before its schedules.
          for key share of agents skip locked for update of schedules skip locked`.pipe(
          mapRows(ClaimedRow, ({ isPlannedInFuture, nextDueAt, now, ownerId, ...schedule }) => ({
            schedule,
            ownerId,
            nextDueAt,
            isPlannedInFuture,
            now
          }))
        ),
      plan: (id, nextDueAt) =>
        Effect.gen(function* () {
          const due = Option.getOrNull(Option.map(nextDueAt, DateTime.toDate))
          yield* execute(sql`update schedules set next_due_at = ${due}, planned_at = now() where id = ${id}`)
        }),
      awaitDue: (atMost) =>
        Effect.gen(function* () {
          const wait = yield* changed
          const { seconds } = yield* sql`
            select extract(epoch from min(next_due_at) - now())::float8 as seconds from schedules where enabled`.pipe(
            decodeSingleRow(Wait)
          )
          const untilDue = seconds === null ? atMost : Duration.seconds(Math.max(0, seconds))
          yield* Effect.timeoutOption(wait, Duration.min(untilDue, atMost))
        })
    })
  })
)
