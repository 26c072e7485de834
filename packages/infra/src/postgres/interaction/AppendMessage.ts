import type { NewMessage, NewTurn, PendingLimits } from "@berth/domain/interaction/conversations/ConversationRepository"
import { ChatSessionNotFound, PendingMessageLimitReached } from "@berth/domain/interaction/ConversationErrors"
import { currentTime } from "@berth/domain/shared/HotPath"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { DateTime, Effect, Option, Schema } from "effect"
import type { Directly } from "../DirectQueries.ts"
import { type RequestColumns, selectRequests } from "../RequestTable.ts"
import { decodeFirstRow } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import { MessageRow, selectMessageColumns } from "./MessageRow.ts"

export interface AppendedMessage {
  readonly message: NewMessage
  readonly turn: NewTurn
  readonly at: DateTime.Utc
}

export const appendedColumns: RequestColumns<AppendedMessage> = {
  id: ["text", ({ message }) => message.id],
  sessionId: ["text", ({ message }) => message.sessionId],
  content: ["text", ({ message }) => toStorableText(message.content)],
  topic: ["text", ({ message: { topic } }) => (topic === null ? null : toStorableText(topic))],
  platform: ["text", ({ message }) => toStorableText(message.platform)],
  attachments: [
    "jsonb",
    ({ message: { attachments = [] } }) => (attachments.length === 0 ? null : toStorableJson(attachments))
  ],
  repeats: ["text", ({ message }) => message.repeats ?? null],
  reservationId: ["text", ({ turn }) => Option.getOrNull(turn.reservation)],
  ownKeysOnly: ["boolean", ({ turn }) => turn.ownKeysOnly],
  unitLimit: ["integer", ({ turn }) => turn.unitLimit ?? null],
  // The lease ends at a time of the database's clock.
  leaseSeconds: ["float8", ({ at, turn }) => DateTime.distance(at, turn.leaseUntil) / 1000],
  at: ["timestamptz", ({ at }) => DateTime.formatIso(at)]
}

/** Key of the advisory lock that serializes the new messages of a user. */
export const newMessagesKey = (sql: SqlClient, userId: Fragment) =>
  sql`hashtextextended('messages of ' || ${userId}, 0)`

/**
 * Part of a statement that appends the messages of `accepted` with their turns, at most one to a session, and returns
 * them. A message takes two numbers, for itself and its reply, so that the reply follows it. `repeated`: the number of
 * messages that it replaces.
 */
export const appendAccepted = (sql: SqlClient) => sql`
  session as (
    update chat_sessions
    set last_seq = last_seq + 2, message_count = message_count + 1 - repeated,
      last_activity = greatest(last_activity, at)
    from accepted where chat_sessions.id = session_id
    returning chat_sessions.id, chat_sessions.user_id, chat_sessions.agent_id, last_seq
  ), turn as (
    insert into turns (id, user_id, agent_id, reservation_id, own_keys_only, unit_limit, lease_until)
    select accepted.id, session.user_id, session.agent_id, reservation_id, own_keys_only, unit_limit,
      now() + make_interval(secs => lease_seconds)
    from accepted join session on session.id = session_id
  )
  insert into messages
    (id, session_id, user_id, agent_id, seq, sender, content, topic, platform, state, attachments, created_at)
  select accepted.id, session.id, session.user_id, session.agent_id, last_seq - 1, 'user', content, topic, platform,
    'pending', attachments, at
  from accepted join session on session.id = session_id
  returning ${selectMessageColumns(sql)}`

const Waiting = Schema.Struct({ ofSession: Schema.Int, ofUser: Schema.Int })
const decodeMessage = decodeFirstRow(MessageRow)

/** Appends a message whose payment is known, within the limits of pending messages. */
export const makeAppendMessage = (sql: SqlClient, directly: Directly) => {
  /** Counts everything committed before this user's lock was acquired, since the statement's snapshot is older. */
  const countWaiting = (sessionId: Fragment) => sql`
    select pending.* from (
      select user_id, pg_advisory_xact_lock(${newMessagesKey(sql, sql`user_id`)})
      from chat_sessions where id = ${sessionId}
      offset 0
    ) as locked cross join lateral count_pending_messages(locked.user_id, ${sessionId}) as pending`

  return Effect.fnUntraced(function* (message: NewMessage, turn: NewTurn, limits: PendingLimits) {
    const appended = yield* decodeMessage(
      directly(sql`
        with request as materialized (
          ${selectRequests(sql, [{ message, turn, at: yield* currentTime }], appendedColumns)}
        ), waiting as materialized (
          select request.* from request cross join lateral (${countWaiting(sql`session_id`)}) as counted
          where of_session < ${limits.session} and of_user < ${limits.user}
        ), repeated as (
          delete from messages using waiting
          where messages.id = repeats and messages.session_id = waiting.session_id and state = 'failed' and not call_begun
          returning messages.id
        ), accepted as materialized (
          select waiting.*, (select count(*) from repeated)::integer as repeated from waiting
        ), ${appendAccepted(sql)}`)
    )
    if (Option.isSome(appended)) return appended.value
    const counted = yield* countWaiting(sql`${message.sessionId}`).pipe(decodeFirstRow(Waiting))
    if (Option.isNone(counted)) return yield* new ChatSessionNotFound()
    return yield* counted.value.ofSession >= limits.session
      ? new PendingMessageLimitReached({ of: "session", limit: limits.session })
      : new PendingMessageLimitReached({ of: "user", limit: limits.user })
  })
}
