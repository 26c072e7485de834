import { type A2aTask, A2aTaskId, A2aTaskState } from "@berth/domain/a2a/tasks/A2aTask"
import { A2aTaskRepository, type TaskScope } from "@berth/domain/a2a/tasks/A2aTaskRepository"
import { MessageId } from "@berth/domain/interaction/Conversation"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import type { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Schema } from "effect"
import {
  affectsRow,
  countAffectedRows,
  decodeFirstRow,
  decodeRows,
  decodeSingleRow,
  readCount,
  readExists
} from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

export const TaskRow = Schema.Struct({
  id: A2aTaskId,
  agentId: AgentId,
  callerId: UserId,
  contextId: Schema.String,
  clientMessageId: Schema.String,
  content: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  turnId: MessageId,
  state: A2aTaskState,
  reply: Schema.NullOr(Schema.String),
  failure: Schema.NullOr(Schema.String),
  createdAt: Schema.DateTimeUtcFromDate,
  updatedAt: Schema.DateTimeUtcFromDate
})
const Counts = Schema.Struct({ isKnown: Schema.Boolean, inProgress: Schema.Int })

/** Tasks with the replies of their turns. */
export const selectTasks = (sql: SqlClient) => sql`
  select t.id, t.agent_id, t.caller_id, t.context_id, t.client_message_id, t.content, t.turn_id, t.state,
    reply.content as reply, m.failure, t.created_at, coalesce(t.ended_at, t.created_at) as updated_at
  from a2a_tasks t join messages m on m.id = t.turn_id
  left join messages reply on reply.session_id = m.session_id and reply.seq = m.seq + 1 and reply.sender = 'agent'
    and reply.state = 'answered'`

export const layer = Repository.layer(A2aTaskRepository, (sql) => {
  const updatedAt = sql`coalesce(t.ended_at, t.created_at)`
  const isOf = ({ agentId, callerId }: TaskScope) => sql`t.agent_id = ${agentId} and t.caller_id = ${callerId}`
  const isMessage = ({ clientMessageId, content }: Pick<A2aTask, "clientMessageId" | "content">) =>
    sql`t.client_message_id = ${toStorableText(clientMessageId)} and t.content = ${toStorableJson(content)}::jsonb`

  return {
    insert: (task, limits) =>
      Effect.orDie(
        Effect.gen(function* () {
          const { inProgress, isKnown } = yield* sql`
            select
              exists (select from a2a_tasks t where ${isOf(task)} and ${isMessage(task)}) as is_known,
              (select count(*) from a2a_tasks t where ${isOf(task)} and state = 'working')::int as in_progress`.pipe(
            decodeSingleRow(Counts)
          )
          if (isKnown) return "known" as const
          if (inProgress >= limits.inProgress) return "full" as const
          const inserted = yield* sql`
            insert into a2a_tasks ${sql.insert({
              ...task,
              contextId: toStorableText(task.contextId),
              clientMessageId: toStorableText(task.clientMessageId),
              content: toStorableJson(task.content),
              createdAt: DateTime.toDate(task.createdAt)
            })} on conflict do nothing returning id`
          if (inserted.length === 0) return "known" as const
          yield* sql`
            delete from a2a_tasks where id in (
              select id from a2a_tasks t where ${isOf(task)} and ended_at is not null
              order by ${updatedAt} desc, id desc offset ${limits.ended}
            )`
          return "stored" as const
        })
      ),
    find: (scope, id) =>
      sql`${selectTasks(sql)} where t.id = ${toStorableText(id)} and ${isOf(scope)}`.pipe(decodeFirstRow(TaskRow)),
    findByMessage: (scope, message) =>
      sql`${selectTasks(sql)} where ${isOf(scope)} and ${isMessage(message)}`.pipe(decodeFirstRow(TaskRow)),
    list: (scope, filter) =>
      Effect.gen(function* () {
        const { after, contextId, limit, since, state } = filter
        const matches = sql.and([
          isOf(scope),
          ...(contextId === undefined ? [] : [sql`t.context_id = ${toStorableText(contextId)}`]),
          ...(state === undefined ? [] : [sql`t.state = ${state}`]),
          ...(since === undefined ? [] : [sql`${updatedAt} >= ${DateTime.toDate(since)}`])
        ])
        const behind =
          after === undefined
            ? sql``
            : sql`and (${updatedAt}, t.id) < (${DateTime.toDate(after.updatedAt)}, ${toStorableText(after.id)})`
        const tasks = yield* sql`
          ${selectTasks(sql)} where ${matches} ${behind} order by ${updatedAt} desc, t.id desc limit ${limit}`.pipe(
          decodeRows(TaskRow)
        )
        const total = yield* readCount(sql`select count(*)::int from a2a_tasks t where ${matches}`)
        return { tasks, total }
      }),
    requestCancel: (id) =>
      affectsRow(sql`
        update a2a_tasks set cancel_requested_at = coalesce(cancel_requested_at, now())
        where id = ${id} and state = 'working'`),
    isCancelRequested: (id) =>
      readExists(sql`
        select exists (select from a2a_tasks where id = ${id} and cancel_requested_at is not null)`),
    prune: (before) => countAffectedRows(sql`delete from a2a_tasks where ended_at < ${DateTime.toDate(before)}`)
  }
})
