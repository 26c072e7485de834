import type { Message } from "@berth/domain/interaction/Conversation"
import type { NewReply } from "@berth/domain/interaction/conversations/ConversationRepository"
import { currentTime } from "@berth/domain/shared/HotPath"
import type { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect } from "effect"
import type { Directly } from "../DirectQueries.ts"
import { type RequestColumns, selectRequests } from "../RequestTable.ts"
import { decodeFirstRow } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import { MessageRow, selectMessageColumns } from "./MessageRow.ts"

export interface StoredReply {
  readonly message: Message
  readonly reply: Omit<NewReply, "cost">
  readonly at: DateTime.Utc
}

export const replyColumns: RequestColumns<StoredReply> = {
  messageId: ["text", ({ message }) => message.id],
  replyId: ["text", ({ reply }) => reply.id],
  content: ["text", ({ reply }) => toStorableText(reply.content)],
  deltaCount: ["integer", ({ reply }) => reply.deltaCount ?? 0],
  model: ["text", ({ reply: { answeredBy } }) => (answeredBy === undefined ? null : toStorableText(answeredBy.model))],
  provider: [
    "text",
    ({ reply: { answeredBy } }) => (answeredBy === undefined ? null : toStorableText(answeredBy.provider))
  ],
  isStopped: ["boolean", ({ reply }) => reply.isStopped ?? false],
  toolCalls: ["jsonb", ({ reply: { toolCalls = [] } }) => (toolCalls.length === 0 ? null : toStorableJson(toolCalls))],
  at: ["timestamptz", ({ at }) => DateTime.formatIso(at)]
}

/**
 * Part of a statement that marks the messages of `ended` as answered, if they are pending, and inserts their replies,
 * named `reply` afterwards.
 */
export const answerEnded = (sql: SqlClient) => sql`
  answered as (
    update messages set state = 'answered', delta_count = ended.delta_count
    from ended where messages.id = message_id and state = 'pending'
    returning ended.*, session_id, user_id, agent_id, seq, topic, platform, created_at as asked_at
  ), session as (
    update chat_sessions
    set message_count = message_count + 1, last_activity = greatest(last_activity, at)
    from answered where chat_sessions.id = answered.session_id
  ), reply as (
    insert into messages
      (id, session_id, user_id, agent_id, seq, sender, content, topic, platform, state, model, provider, units,
        cost_micros, duration_ms, is_stopped, tool_calls, created_at)
    select reply_id, session_id, user_id, agent_id, seq + 1, 'agent', content, topic, platform, 'answered', model,
      provider, units, cost_micros, greatest(0, extract(epoch from at - asked_at) * 1000)::integer, is_stopped,
      tool_calls, at
    from answered
    returning ${selectMessageColumns(sql)}
  )`

const decodeMessage = decodeFirstRow(MessageRow)

/** Stores the reply of a turn that is already settled. */
export const makeStoreReply = (sql: SqlClient, directly: Directly) =>
  Effect.fnUntraced(function* (message: Message, { cost, ...reply }: NewReply) {
    const request = selectRequests(sql, [{ message, reply, at: yield* currentTime }], {
      ...replyColumns,
      units: ["integer", () => cost?.units ?? null],
      costMicros: ["bigint", () => cost?.costMicros ?? null]
    })
    return yield* decodeMessage(
      directly(sql`
        with ended as materialized (${request}), ${answerEnded(sql)}
        select ${selectMessageColumns(sql)} from reply`)
    )
  })
