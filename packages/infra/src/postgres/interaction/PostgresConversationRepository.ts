import type { MessageOrigin } from "@berth/domain/shared/Channel"
import type { UserId } from "@berth/domain/shared/UserId"
import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import type { AgentId } from "@berth/domain/shared/AgentId"
import {
  ChatSession,
  ChatSessionId,
  type Message,
  MessageFigures,
  MessageId,
  MessageState
} from "@berth/domain/interaction/Conversation"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import {
  ConversationRepository,
  type MessageFailure,
  type PartialAnswer,
  type NewMessage,
  type NewReply,
  type NewTurn,
  type PaidTurn,
  type PendingLimits,
  type TurnPriceLimit
} from "@berth/domain/interaction/conversations/ConversationRepository"
import type { ReservationTerms } from "@berth/domain/billing/units/UnitLedger"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { currentTime } from "@berth/domain/shared/HotPath"
import { SqlClient } from "@effect/sql/SqlClient"
import { Array, DateTime, Effect, flow, Layer, Option, Schema } from "effect"
import * as Repository from "../Repository.ts"
import { ReservationHolder } from "../billing/ReservationHolder.ts"
import { charged } from "../billing/SettleUnits.ts"
import { makeDirectly } from "../DirectQueries.ts"
import { makeKeyedRead } from "../KeyedReads.ts"
import { executeAlone, makeRequestGroups, skipFailedGroup } from "../RequestGroups.ts"
import {
  countAffectedRows,
  decodeFirstRow,
  decodeRows,
  decodeSingleRow,
  execute,
  listColumns,
  mapRows,
  readCount,
  readExists
} from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import { makeAppendGroup, type PaidMessage } from "./AppendGroup.ts"
import { makeAppendMessage, newMessagesKey } from "./AppendMessage.ts"
import { type CompletedTurn, makeCompleteGroup } from "./CompleteGroup.ts"
import { MessageRow, selectMessageColumns } from "./MessageRow.ts"
import { makeStoreReply } from "./StoreReply.ts"

const ChatSessionRow = Schema.Struct({
  ...ChatSession.fields,
  createdAt: Schema.DateTimeUtcFromDate,
  lastActivity: Schema.DateTimeUtcFromDate
})
const PreviewRow = Schema.Struct({ id: ChatSessionId, content: Schema.String })
const decodeSession = decodeFirstRow(ChatSessionRow)
const decodeSessionsWithAgent = mapRows(
  Schema.Struct({ ...ChatSessionRow.fields, agentStatus: Schema.NullOr(AgentStatus) }),
  ({ agentStatus, ...session }) => [session.id, { session, agentStatus: Option.fromNullable(agentStatus) }] as const
)
const decodeAgent = decodeFirstRow(Schema.Struct({ agentStatus: Schema.NullOr(AgentStatus) }))
const OutcomeRow = Schema.Struct({
  state: MessageState,
  failure: Schema.NullOr(Schema.String),
  callBegun: Schema.Boolean
})
const IdRow = Schema.Struct({ id: MessageId })

/** Limits of a conversation search: newest messages, and characters of each. */
const searchedMessages = 5_000
const searchedCharacters = 10_000

const unlimited: PendingLimits = { session: 2 ** 31 - 1, user: 2 ** 31 - 1 }

export const layer = Repository.layerEffect(
  ConversationRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const directly = yield* makeDirectly
    const ids = yield* IdGenerator
    const holder = yield* ReservationHolder
    const groupAppends = yield* makeRequestGroups
    const groupCompletions = yield* makeRequestGroups
    const append = makeAppendMessage(sql, directly)
    const appendInGroup = groupAppends(skipFailedGroup(makeAppendGroup(sql, directly, holder, { waits: false })))
    const appendAlone = executeAlone(skipFailedGroup(makeAppendGroup(sql, directly, holder, { waits: true })))
    const completeInGroup = groupCompletions(skipFailedGroup(makeCompleteGroup(sql, directly, { waits: false })))
    const completeAlone = executeAlone(makeCompleteGroup(sql, directly, { waits: true }))
    const nextEntry = ids.next("led")
    const nextReservation = Effect.map(ids.next("rsv"), (id) => ReservationId.make(id))
    const sessionColumns = sql.literal(listColumns("chat_sessions", ChatSessionRow))

    const findSessionWithAgent = yield* makeKeyedRead(sql, {
      select: (wanted) => sql`
        select ${sessionColumns}, agents.status as agent_status
        from ${wanted} join chat_sessions on chat_sessions.id = wanted.key
        left join agents on agents.id = chat_sessions.agent_id and owner_id = chat_sessions.user_id`,
      decode: decodeSessionsWithAgent
    })

    const describePaid = Effect.fnUntraced(function* (
      message: NewMessage,
      turn: PaidTurn,
      payment: ReservationTerms,
      limits: PendingLimits = unlimited
    ) {
      const request: PaidMessage = {
        id: message.id,
        message,
        turn: Object.assign({ ownKeysOnly: false, reservation: Option.some(yield* nextReservation) }, turn),
        at: yield* currentTime,
        payment,
        limits
      }
      return request
    })

    const lockNewMessages = (userId: UserId) =>
      sql`select pg_advisory_xact_lock(${newMessagesKey(sql, sql`${userId}::text`)})`

    /**
     * Locks new and pending messages of a user until the transaction ends. Lock order as for a reply: messages, their
     * session.
     */
    const lockMessages = (userId: UserId, sessionId?: ChatSessionId) => {
      const ofSession = sessionId === undefined ? [] : [sql`session_id = ${toStorableText(sessionId)}`]
      return Effect.all([
        lockNewMessages(userId),
        sql`
          select id from messages where ${sql.and([sql`state = 'pending'`, sql`user_id = ${userId}`, ...ofSession])}
          order by id for update`.pipe(decodeRows(IdRow))
      ]).pipe(Effect.map(([, pending]) => pending))
    }

    return ConversationRepository.of({
      insertSession: Effect.fnUntraced(function* (
        session: ChatSession,
        maximum?: number,
        platform: MessageOrigin = "web"
      ) {
        const inserted = yield* countAffectedRows(sql`
          insert into chat_sessions (id, user_id, agent_id, platform, status, message_count, created_at, last_activity)
          select ${session.id}, ${session.userId}, ${session.agentId}, ${platform}, ${session.status}, ${session.messageCount}::int,
            ${DateTime.toDate(session.createdAt)}::timestamptz, ${DateTime.toDate(session.lastActivity)}::timestamptz
          where ${maximum ?? null}::int is null
            or (select count(*) from chat_sessions where user_id = ${session.userId} and platform = 'web') < ${maximum ?? null}::int
          on conflict (id) do nothing`)
        return inserted === 1
      }),
      markFromOwner: (id: ChatSessionId) =>
        execute(sql`update chat_sessions set from_owner = true where id = ${id} and not from_owner`),
      findSession: Effect.fnUntraced(function* (userId: UserId, id: ChatSessionId) {
        const found = directly(sql`
          select ${sessionColumns} from chat_sessions where id = ${toStorableText(id)} and user_id = ${userId}`)
        return yield* decodeSession(found)
      }),
      findSessionWithAgent: (userId: UserId, id: ChatSessionId) =>
        Effect.map(
          findSessionWithAgent(toStorableText(id)),
          Option.filter(({ session }) => session.userId === userId)
        ),
      findActiveSession: Effect.fnUntraced(function* (userId: UserId, agentId: AgentId) {
        const found = yield* directly(sql`
          select chat_sessions.*, agents.status as agent_status
          from agents left join lateral (
            select ${sessionColumns} from chat_sessions
            where user_id = ${userId} and agent_id = agents.id and platform = 'web'
            order by last_activity desc, id desc limit 1
          ) as chat_sessions on true
          where agents.id = ${toStorableText(agentId)} and owner_id = ${userId}`).pipe(Effect.orDie)
        const hasSession = Array.some(found, (row) => "id" in row && row.id !== null)
        const session = yield* decodeSession(Effect.succeed(hasSession ? found : []))
        const agent = yield* decodeAgent(Effect.succeed(found))
        return Option.flatMap(agent, ({ agentStatus }) =>
          agentStatus === null ? Option.none() : Option.some({ session, agentStatus })
        )
      }),
      listSessions: Effect.fnUntraced(function* (userId: UserId, limit: number, agentId?: AgentId, text?: string) {
        const ofAgent = agentId === undefined ? [] : [sql`agent_id = ${agentId}`]
        const pattern = `%${toStorableText(text ?? "").replaceAll(/[\\%_]/g, "\\$&")}%`
        const withText =
          text === undefined
            ? []
            : [
                sql`(title ilike ${pattern} or id in (
                  select session_id from (
                    select session_id, content from messages where ${sql.and([sql`user_id = ${userId}`, ...ofAgent])}
                    order by created_at desc, seq desc limit ${searchedMessages}
                  ) as recent where left(content, ${searchedCharacters}::integer) ilike ${pattern}
                ))`
              ]
        return yield* sql`
          select * from chat_sessions where ${sql.and([sql`user_id = ${userId}`, ...ofAgent, ...withText])}
          order by last_activity desc, id desc limit ${limit}`.pipe(decodeRows(ChatSessionRow))
      }),
      findPreviews: Effect.fnUntraced(function* (sessionIds: ReadonlyArray<ChatSessionId>, characters: number) {
        const previews = yield* sql`
          select listed.id, left(newest.content, ${characters}::integer) as content
          from unnest(${sessionIds}::text[]) as listed (id), lateral (
            select content from messages where session_id = listed.id and sender = 'user' order by seq desc limit 1
          ) as newest`.pipe(decodeRows(PreviewRow))
        return new Map(previews.map(({ content, id }) => [id, content]))
      }),
      lockNewMessages: Effect.fnUntraced(function* (userId: UserId) {
        yield* execute(lockNewMessages(userId))
      }),
      appendPaidMessage: flow(describePaid, Effect.flatMap(appendAlone)),
      appendWithOthers: flow(describePaid, Effect.flatMap(appendInGroup)),
      appendUserMessage: (message: NewMessage, turn: NewTurn, limits: PendingLimits = unlimited) =>
        append(message, turn, limits),
      findMessage: (userId: UserId, id: MessageId) =>
        sql`
          select ${selectMessageColumns(sql)} from messages
          where id = ${toStorableText(id)} and user_id = ${userId} and sender = 'user'`.pipe(
          decodeFirstRow(MessageRow)
        ),
      findReply: (message: Message) =>
        sql`
          select ${selectMessageColumns(sql)} from messages
          where session_id = ${message.sessionId} and seq = ${message.seq + 1} and sender = 'agent'
            and state = 'answered'`.pipe(decodeFirstRow(MessageRow)),
      isNext: Effect.fnUntraced(function* (message: Message) {
        const hasEarlier = yield* readExists(sql`
          select exists (
            select from messages
            where session_id = ${message.sessionId} and seq < ${message.seq} and state = 'pending'
          )`)
        return !hasEarlier
      }),
      storeReply: makeStoreReply(sql, directly),
      completeTurn: Effect.fnUntraced(function* (
        message: Message,
        reply: Omit<NewReply, "cost">,
        price: TurnPriceLimit
      ) {
        const turn: CompletedTurn = {
          id: reply.id,
          message,
          reply,
          at: yield* currentTime,
          price,
          entries: {
            allowance: yield* nextEntry,
            usage: yield* nextEntry,
            credits: yield* nextEntry,
            creditUsage: yield* nextEntry
          }
        }
        const inGroup = yield* completeInGroup(turn)
        const completed = Option.isSome(inGroup) ? inGroup : yield* completeAlone(turn)
        return Option.map(completed, (answer) => {
          charged.unsafeUpdate(answer.charged, [])
          return answer.reply
        })
      }),
      markFailed: Effect.fnUntraced(function* (
        id: MessageId,
        { callBegun, deltaCount, isStopped = false, reason }: MessageFailure = { callBegun: true },
        partial?: PartialAnswer
      ) {
        const mark = sql`
          update messages
          set state = 'failed', delta_count = ${deltaCount ?? null}, call_begun = ${callBegun}, is_stopped = ${isStopped},
            failure = ${reason === undefined ? null : toStorableText(reason)}
          where id = ${id} and state = 'pending'`
        if (partial === undefined) return (yield* countAffectedRows(mark)) === 1
        const { content, toolCalls = [] } = partial
        const now = DateTime.toDate(yield* DateTime.now)
        const stored = yield* countAffectedRows(sql`
          with failed as (
            ${mark} returning session_id, user_id, agent_id, seq, topic, platform, failure, created_at as asked_at
          ), session as (
            update chat_sessions
            set message_count = message_count + 1, last_activity = greatest(last_activity, ${now})
            from failed where chat_sessions.id = failed.session_id
          )
          insert into messages
            (id, session_id, user_id, agent_id, seq, sender, content, topic, platform, state, failure, duration_ms,
              tool_calls, created_at)
          select ${partial.id}, session_id, user_id, agent_id, seq + 1, 'agent', ${toStorableText(content)}, topic,
            platform, 'failed', failure, greatest(0, extract(epoch from ${now}::timestamptz - asked_at) * 1000)::integer,
            ${toolCalls.length === 0 ? null : toStorableJson(toolCalls)}::jsonb, ${now}
          from failed`)
        return stored === 1
      }),
      findOutcome: Effect.fnUntraced(function* (id: MessageId) {
        const found = yield* sql`
          select state, failure, coalesce(call_begun, true) as call_begun from messages
          where id = ${toStorableText(id)}`.pipe(decodeFirstRow(OutcomeRow))
        return Option.map(found, ({ failure, ...outcome }) => ({ ...outcome, reason: failure ?? undefined }))
      }),
      readRecord: Effect.fnUntraced(function* (sessionId: ChatSessionId, limit: number, before?: MessageId) {
        const earlier =
          before === undefined
            ? []
            : [sql`seq < (select seq from messages where id = ${toStorableText(before)} and session_id = ${sessionId})`]
        const newestFirst = yield* sql`
          select ${selectMessageColumns(sql)} from messages where ${sql.and([sql`session_id = ${toStorableText(sessionId)}`, ...earlier])}
          order by seq desc limit ${limit}`.pipe(decodeRows(MessageRow))
        return Array.reverse(newestFirst)
      }),
      listByAgent: Effect.fnUntraced(function* (
        agentId: AgentId,
        { limit, offset }: { readonly limit: number; readonly offset: number }
      ) {
        const messages = yield* sql`
          select ${selectMessageColumns(sql)} from messages where agent_id = ${agentId}
          order by created_at desc, seq desc limit ${limit} offset ${offset}`.pipe(decodeRows(MessageRow))
        const count = yield* readCount(sql`select count(*)::int from messages where agent_id = ${agentId}`)
        return { messages, total: count }
      }),
      findAgentFigures: (agentId: AgentId, since: DateTime.Utc) =>
        sql`
          select
            count(*) filter (where sender = 'user' and state = 'answered')::int as answered,
            count(*) filter (where sender = 'user' and state = 'failed')::int as failed,
            count(*) filter (where sender = 'user' and created_at > ${DateTime.toDate(since)})::int as recent,
            (avg(duration_ms) filter (where sender = 'agent' and state = 'answered'))::float8 as average_answer_ms
          from messages where agent_id = ${agentId} and state <> 'pending'`.pipe(decodeSingleRow(MessageFigures)),
      removeSessions: Effect.fnUntraced(function* (userId: UserId) {
        const remove = countAffectedRows(sql`delete from chat_sessions where user_id = ${userId}`)
        return yield* Effect.orDie(sql.withTransaction(Effect.zipRight(lockMessages(userId), remove)))
      }),
      renameSession: (userId: UserId, id: ChatSessionId, title: string | null) =>
        sql`
          update chat_sessions set title = ${title === null ? null : toStorableText(title)}
          where id = ${toStorableText(id)} and user_id = ${userId} returning *`.pipe(decodeFirstRow(ChatSessionRow)),
      removeSession: Effect.fnUntraced(
        function* (userId: UserId, id: ChatSessionId) {
          const pending = yield* lockMessages(userId, id)
          const removed = yield* countAffectedRows(
            sql`delete from chat_sessions where id = ${toStorableText(id)} and user_id = ${userId}`
          )
          return removed === 0 ? Option.none() : Option.some(pending.map((message) => message.id))
        },
        sql.withTransaction,
        Effect.orDie
      ),
      transfer: Effect.fnUntraced(function* (agentId: AgentId, to: UserId) {
        yield* execute(sql`update chat_sessions set user_id = ${to} where agent_id = ${agentId}`)
        yield* execute(sql`update messages set user_id = ${to} where agent_id = ${agentId}`)
      }),
      listByUser: (userId: UserId, limit: number) =>
        sql`
          select ${selectMessageColumns(sql)} from messages where user_id = ${userId}
          order by created_at desc, seq desc limit ${limit}`.pipe(decodeRows(MessageRow)),
      countByUser: (userId: UserId) => readCount(sql`select count(*)::int from messages where user_id = ${userId}`)
    })
  })
).pipe(Layer.provide(ReservationHolder.layer))
