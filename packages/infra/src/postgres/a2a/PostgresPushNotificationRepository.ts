import { A2aTaskId } from "@berth/domain/a2a/tasks/A2aTask"
import type { ClaimedPush, PushEnd, PushNotification } from "@berth/domain/a2a/tasks/PushNotification"
import { PushNotificationRepository } from "@berth/domain/a2a/tasks/PushNotificationRepository"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Option, Redacted, Schema } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, mapFirstRow, readCount } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { selectTasks, TaskRow } from "./PostgresA2aTaskRepository.ts"
import * as Repository from "../Repository.ts"

const NotificationRow = Schema.Struct({
  taskId: A2aTaskId,
  id: Schema.String,
  url: Schema.String,
  scheme: Schema.NullOr(Schema.String),
  secretsSealed: Schema.NullOr(Schema.String)
})
const ClaimedRow = Schema.Struct({ ...NotificationRow.fields, attempt: Schema.Int })
const AccessRow = Schema.Struct({
  ownerId: UserId,
  allow: Schema.Array(Schema.String),
  callerAgentIds: Schema.Array(Schema.String)
})
const Secrets = Schema.parseJson(
  Schema.Struct({ token: Schema.NullOr(Schema.String), credentials: Schema.NullOr(Schema.String) })
)
const decodeSecrets = Schema.decode(Secrets)
const encodeSecrets = Schema.encode(Secrets)

const contextOf = ({ id, taskId }: Pick<PushNotification, "id" | "taskId">) =>
  `a2a_push_notifications.secrets_sealed:${taskId}:${id}`
const reveal = (secret: Redacted.Redacted | null | undefined) =>
  secret === null || secret === undefined ? null : Redacted.value(secret)
const hide = (secret: string | null) => (secret === null ? null : Redacted.make(secret))

export const layer = Repository.layerEffect(
  PushNotificationRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const box = yield* SecretBox

    const open = Effect.fnUntraced(function* (row: typeof NotificationRow.Type) {
      const { id, scheme, secretsSealed, taskId, url } = row
      const opened = secretsSealed === null ? undefined : yield* box.open(secretsSealed, contextOf(row))
      const { credentials, token } =
        opened === undefined ? { credentials: null, token: null } : yield* decodeSecrets(Redacted.value(opened))
      return {
        taskId,
        id,
        url,
        token: hide(token),
        authentication: scheme === null ? null : { scheme, credentials: hide(credentials) }
      } satisfies PushNotification
    })

    /** Ends an attempt that still holds its claim. */
    const end = (
      {
        attempt,
        claimedUntil,
        id,
        taskId
      }: Omit<ClaimedPush, "notification" | "task"> & Pick<PushNotification, "id" | "taskId">,
      how: PushEnd
    ) => {
      const isHeld = sql`
        task_id = ${taskId} and id = ${toStorableText(id)} and status = 'pending' and attempts = ${attempt}
          and claimed_until = ${DateTime.toDate(claimedUntil)}`
      if (how === "delivered")
        return Effect.asVoid(sql`
          update a2a_push_notifications set status = 'delivered', claimed_until = null, failure = null
          where ${isHeld}`)
      const { failure, retryAt } = how
      const next = retryAt === null ? sql`status = 'failed'` : sql`due_at = ${DateTime.toDate(retryAt)}`
      return Effect.asVoid(sql`
        update a2a_push_notifications set ${next}, claimed_until = null, failure = ${toStorableText(failure)}
        where ${isHeld}`)
    }

    const columns = sql`task_id, id, url, scheme, secrets_sealed`

    return PushNotificationRepository.of({
      store: (notification, limit) =>
        Effect.gen(function* () {
          const { authentication, taskId, token, url } = notification
          const id = toStorableText(notification.id)
          // Serializes concurrent calls.
          yield* sql`select from a2a_tasks where id = ${taskId} for update`
          const others = yield* readCount(sql`
            select count(*)::int from a2a_push_notifications where task_id = ${taskId} and id <> ${id}`)
          if (others >= limit) return false
          const secrets = { token: reveal(token), credentials: reveal(authentication?.credentials) }
          const sealed = yield* box.seal(Redacted.make(yield* encodeSecrets(secrets)), contextOf({ taskId, id }))
          const now = DateTime.toDate(yield* DateTime.now)
          yield* sql`
            insert into a2a_push_notifications ${sql.insert({
              taskId,
              id,
              url: toStorableText(url),
              scheme: authentication?.scheme ?? null,
              secretsSealed: sealed,
              dueAt: now,
              createdAt: now
            })}
            on conflict (task_id, id) do update set
              url = excluded.url, scheme = excluded.scheme, secrets_sealed = excluded.secrets_sealed,
              status = 'pending', attempts = 0, due_at = excluded.due_at, claimed_until = null`
          return true
        }).pipe(sql.withTransaction, Effect.orDie),
      list: (taskId) =>
        Effect.orDie(
          Effect.gen(function* () {
            const rows = yield* sql`
              select ${columns} from a2a_push_notifications where task_id = ${taskId} order by created_at, id`.pipe(
              decodeRows(NotificationRow)
            )
            return yield* Effect.forEach(rows, open)
          })
        ),
      find: (taskId, id) =>
        Effect.orDie(
          Effect.gen(function* () {
            const row = yield* sql`
              select ${columns} from a2a_push_notifications
              where task_id = ${taskId} and id = ${toStorableText(id)}`.pipe(decodeFirstRow(NotificationRow))
            return yield* Effect.transposeMapOption(row, open)
          })
        ),
      remove: (taskId, id) =>
        affectsRow(sql`
          delete from a2a_push_notifications where task_id = ${taskId} and id = ${toStorableText(id)}`),
      claim: (limits, now, until) =>
        Effect.orDie(
          Effect.gen(function* () {
            const at = DateTime.toDate(now)
            const isDue = sql`
              p.status = 'pending' and p.due_at <= ${at} and (p.claimed_until is null or p.claimed_until <= ${at})`
            const rows = yield* sql`
              with in_flight as (
                select t.caller_id, count(*) as count
                from a2a_push_notifications p join a2a_tasks t on t.id = p.task_id
                where p.status = 'pending' and p.claimed_until > ${at} group by t.caller_id
              ), ranked as (
                select p.task_id, p.id,
                  row_number() over (partition by t.caller_id order by p.due_at) + coalesce(in_flight.count, 0) as turn
                from a2a_push_notifications p join a2a_tasks t on t.id = p.task_id left join in_flight using (caller_id)
                where ${isDue} and t.state <> 'working'
              ), due as (
                select p.task_id, p.id from a2a_push_notifications p join ranked using (task_id, id)
                where ${isDue} and ranked.turn <= ${limits.perCaller}
                order by ranked.turn, p.due_at limit ${limits.total} for update of p skip locked
              )
              update a2a_push_notifications p set attempts = attempts + 1, claimed_until = ${DateTime.toDate(until)}
              from due where p.task_id = due.task_id and p.id = due.id
              returning p.task_id, p.id, p.url, p.scheme, p.secrets_sealed, p.attempts as attempt`.pipe(
              decodeRows(ClaimedRow)
            )
            const found = yield* Effect.forEach(rows, (row) =>
              Effect.gen(function* () {
                const task = yield* sql`${selectTasks(sql)} where t.id = ${row.taskId}`.pipe(decodeFirstRow(TaskRow))
                const notification = yield* open(row)
                return Option.map(task, (ended): ClaimedPush => ({
                  notification,
                  task: ended,
                  attempt: row.attempt,
                  claimedUntil: until
                }))
              }).pipe(
                // The other notifications of the claim are sent.
                Effect.catchTag("SecretUndecryptable", ({ reason }) =>
                  Effect.logError("Push notification not sent, its secrets cannot be decrypted").pipe(
                    Effect.annotateLogs({ taskId: row.taskId, notificationId: row.id, reason }),
                    Effect.zipRight(
                      end(
                        { taskId: row.taskId, id: row.id, attempt: row.attempt, claimedUntil: until },
                        {
                          failure: "Its secrets cannot be decrypted.",
                          retryAt: null
                        }
                      )
                    ),
                    Effect.as(Option.none())
                  )
                )
              )
            )
            return found.flatMap(Option.toArray)
          })
        ),
      findAccess: ({ agentId, callerId }) =>
        sql`
          select agents.owner_id, coalesce(allow, '{}') as allow,
            array(select own.id from agents own where own.owner_id = caller.id) as caller_agent_ids
          from agents join users owner on owner.id = agents.owner_id join users caller on caller.id = ${callerId}
          left join a2a_settings on a2a_settings.agent_id = agents.id
          where agents.id = ${agentId} and owner.suspended_at is null and caller.suspended_at is null`.pipe(
          mapFirstRow(AccessRow, ({ allow, callerAgentIds, ownerId }) => ({
            receiver: { ownerId, allow },
            sender: { ownerId: callerId, agentIds: callerAgentIds }
          }))
        ),
      record: ({ attempt, claimedUntil, notification: { id, taskId } }, how) =>
        Effect.orDie(end({ taskId, id, attempt, claimedUntil }, how))
    })
  })
)
