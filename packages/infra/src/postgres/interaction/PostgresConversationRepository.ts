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
import { ChatSessionNotFound, PendingMessageLimitReached } from "@berth/domain/interaction/ConversationErrors"
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
import { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Array, DateTime, Effect, Layer, Option, Schema } from "effect"
import { makeDayReservation, ReservationHolder } from "../billing/DayReservation.ts"
import { charged, makeBooking } from "../billing/SettleUnits.ts"
import { toDatabaseTime } from "../DatabaseClock.ts"
import { makeDirectly } from "../DirectQueries.ts"
import { preparedMark } from "../PreparedStatements.ts"
import {
  countAffectedRows,
  decodeFirstRow,
  decodeRows,
  decodeSingleRow,
  execute,
  listColumns,
  readCount,
  readExists
} from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { isRowRejected } from "../SqlErrors.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"

import { MessageRow, selectMessageColumns } from "./MessageRow.ts"
import { withExportedSpan } from "@berth/domain/shared/SpanExport"

const ChatSessionRow = Schema.Struct({
  ...ChatSession.fields,
  createdAt: Schema.DateTimeUtcFromDate,
  lastActivity: Schema.DateTimeUtcFromDate
})
const PreviewRow = Schema.Struct({ id: ChatSessionId, content: Schema.String })
const decodeSession = decodeFirstRow(ChatSessionRow)
const decodeAgent = decodeFirstRow(Schema.Struct({ agentStatus: Schema.NullOr(AgentStatus) }))
const decodeMessage = decodeFirstRow(MessageRow)
const CompletedRow = Schema.Struct({ isStored: Schema.Boolean, charged: UnitsColumn })
const decodeCompleted = decodeFirstRow(CompletedRow)
const OutcomeRow = Schema.Struct({
  state: MessageState,
  failure: Schema.NullOr(Schema.String),
  callBegun: Schema.Boolean
})
const IdRow = Schema.Struct({ id: MessageId })
const Waiting = Schema.Struct({ ofSession: Schema.Int, ofUser: Schema.Int })

/** Limits of a conversation search: newest messages, and characters of each. */
const searchedMessages = 5_000
const searchedCharacters = 10_000

const unlimited: PendingLimits = { session: 2 ** 31 - 1, user: 2 ** 31 - 1 }

export const layer: Layer.Layer<ConversationRepository, never, SqlClient | IdGenerator> = Layer.effect(
  ConversationRepository,
  Effect.map(Effect.all([SqlClient, makeDirectly, IdGenerator, ReservationHolder]), ([sql, directly, ids, holder]) => {
    const book = makeBooking(sql, ids)
    const ofDay = makeDayReservation(sql, ids, holder)
    const prepared = sql.literal(preparedMark)
    const sessionColumns = sql.literal(listColumns("chat_sessions", ChatSessionRow))

    const newMessagesLock = (userId: Fragment) =>
      sql`pg_advisory_xact_lock(hashtextextended('messages of ' || ${userId}, 0))`

    /**
     * Locks new and pending messages of a user until the transaction ends. Lock order as for a reply: messages, their
     * session.
     */
    const lockMessages = (userId: UserId, sessionId?: ChatSessionId) => {
      const ofSession = sessionId === undefined ? [] : [sql`session_id = ${toStorableText(sessionId)}`]
      return Effect.all([
        sql`select ${newMessagesLock(sql`${userId}::text`)}`,
        sql`
          select id from messages where ${sql.and([sql`state = 'pending'`, sql`user_id = ${userId}`, ...ofSession])}
          order by id for update`.pipe(decodeRows(IdRow))
      ]).pipe(Effect.map(([, pending]) => pending))
    }

    /**
     * Marks a pending message as answered and inserts its reply, named `reply` afterwards; `of` has a row if that is
     * allowed.
     */
    const answer = (
      message: Message,
      { answeredBy, isStopped = false, toolCalls = [], ...reply }: Omit<NewReply, "cost">,
      {
        at,
        costMicros,
        of = sql``,
        units
      }: {
        readonly at: Date
        readonly units: Fragment
        readonly costMicros: Fragment
        readonly of?: Fragment
      }
    ) => sql`
      answered as (
        update messages set state = 'answered', delta_count = ${reply.deltaCount ?? 0} ${of}
        where messages.id = ${message.id} and state = 'pending'
        returning session_id, user_id, agent_id, seq, topic, platform, created_at as asked_at, ${costMicros} as answer_cost
      ), session as (
        update chat_sessions
        set message_count = message_count + 1, last_activity = greatest(last_activity, ${at})
        from answered where chat_sessions.id = answered.session_id
      ), reply as (
        insert into messages
          (id, session_id, user_id, agent_id, seq, sender, content, topic, platform, state, model, provider, units,
            cost_micros, duration_ms, is_stopped, tool_calls, created_at)
        select ${reply.id}, session_id, user_id, agent_id, seq + 1, 'agent', ${toStorableText(reply.content)},
          topic, platform, 'answered', ${answeredBy === undefined ? null : toStorableText(answeredBy.model)},
          ${answeredBy === undefined ? null : toStorableText(answeredBy.provider)}, ${units}::integer, answer_cost,
          greatest(0, extract(epoch from ${at}::timestamptz - asked_at) * 1000)::integer, ${isStopped}::boolean,
          ${toolCalls.length === 0 ? null : toStorableJson(toolCalls)}::jsonb, ${at}
        from answered
        returning ${selectMessageColumns(sql)}
      )`

    /** Counts everything committed before this user's lock was acquired, since the statement's snapshot is older. */
    const countWaiting = (sessionId: ChatSessionId) => sql`
      select pending.* from (
        select user_id, ${newMessagesLock(sql`user_id`)}
        from chat_sessions where id = ${sessionId}
        offset 0
      ) as locked cross join lateral count_pending_messages(locked.user_id, ${sessionId}) as pending`

    /**
     * Appends a message and its turn if `from` has a row; otherwise none, without any change. A message takes two
     * numbers, for itself and its reply, so that the reply follows it. `to` is the updated session.
     */
    const append = Effect.fnUntraced(function* (
      { attachments = [], ...message }: NewMessage,
      { leaseUntil, ownKeysOnly, unitLimit }: Omit<NewTurn, "reservation">,
      limits: PendingLimits,
      {
        from,
        reservationId,
        reserving,
        to
      }: { readonly [part in "from" | "reservationId" | "reserving" | "to"]: Fragment }
    ) {
      const now = DateTime.toDate(yield* DateTime.now)
      return yield* directly(sql`${prepared}
        with waiting as materialized (
          select from (${countWaiting(message.sessionId)}) as counted
          where of_session < ${limits.session} and of_user < ${limits.user}
        ), ${reserving} repeated as (
          delete from messages using ${from}
          where id = ${message.repeats ?? null} and session_id = ${message.sessionId} and state = 'failed' and not call_begun
          returning id
        ), session as (
          update chat_sessions
          set last_seq = last_seq + 2, message_count = message_count + 1 - (select count(*) from repeated)::int,
            last_activity = greatest(last_activity, ${now})
          from ${from}
          where id = ${message.sessionId}
          returning id, user_id, agent_id, last_seq
        ), turn as (
          insert into turns (id, user_id, agent_id, reservation_id, own_keys_only, unit_limit, lease_until)
          select ${message.id}, user_id, agent_id, ${reservationId}, ${ownKeysOnly}::boolean,
            ${unitLimit ?? null}::integer,
            ${yield* toDatabaseTime(sql, leaseUntil)}
          from session
        )
        insert into messages
          (id, session_id, user_id, agent_id, seq, sender, content, topic, platform, state, attachments, created_at)
        select ${message.id}, id, user_id, agent_id, last_seq - 1, 'user', ${toStorableText(message.content)},
          ${message.topic === null ? null : toStorableText(message.topic)}, ${toStorableText(message.platform)},
          'pending', ${attachments.length === 0 ? null : toStorableJson(attachments)}::jsonb, ${now}
        from ${to}
        returning ${selectMessageColumns(sql)}`)
    })

    return ConversationRepository.of({
      insertSession: Effect.fn("ConversationRepository.insertSession")(function* (
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
      markFromOwner: Effect.fn("ConversationRepository.markFromOwner")((id: ChatSessionId) =>
        execute(sql`update chat_sessions set from_owner = true where id = ${id} and not from_owner`)
      ),
      findSession: Effect.fnUntraced(function* (userId: UserId, id: ChatSessionId) {
        const found = directly(sql`${prepared}
          select ${sessionColumns} from chat_sessions where id = ${toStorableText(id)} and user_id = ${userId}`)
        return yield* decodeSession(found)
      }, withExportedSpan("ConversationRepository.findSession")),
      findSessionWithAgent: Effect.fnUntraced(function* (userId: UserId, id: ChatSessionId) {
        const found = yield* directly(sql`${prepared}
          select ${sessionColumns}, agents.status as agent_status
          from chat_sessions left join agents on agents.id = agent_id and owner_id = ${userId}
          where chat_sessions.id = ${toStorableText(id)} and user_id = ${userId}`).pipe(Effect.orDie)
        const session = yield* decodeSession(Effect.succeed(found))
        const agent = yield* decodeAgent(Effect.succeed(found))
        return Option.map(session, (known) => ({
          session: known,
          agentStatus: Option.flatMapNullable(agent, ({ agentStatus }) => agentStatus)
        }))
      }, withExportedSpan("ConversationRepository.findSessionWithAgent")),
      findActiveSession: Effect.fnUntraced(function* (userId: UserId, agentId: AgentId) {
        const found = yield* directly(sql`${prepared}
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
      }, withExportedSpan("ConversationRepository.findActiveSession")),
      listSessions: Effect.fn("ConversationRepository.listSessions")(function* (
        userId: UserId,
        limit: number,
        agentId?: AgentId,
        text?: string
      ) {
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
      findPreviews: Effect.fn("ConversationRepository.findPreviews")(function* (
        sessionIds: ReadonlyArray<ChatSessionId>,
        characters: number
      ) {
        const previews = yield* sql`
          select listed.id, left(newest.content, ${characters}::integer) as content
          from unnest(${sessionIds}::text[]) as listed (id), lateral (
            select content from messages where session_id = listed.id and sender = 'user' order by seq desc limit 1
          ) as newest`.pipe(decodeRows(PreviewRow))
        return new Map(previews.map(({ content, id }) => [id, content]))
      }),
      lockNewMessages: Effect.fnUntraced(function* (userId: UserId) {
        yield* execute(sql`select ${newMessagesLock(sql`${userId}::text`)}`)
      }, withExportedSpan("ConversationRepository.lockNewMessages")),
      appendPaidMessage: Effect.fnUntraced(function* (
        message: NewMessage,
        turn: PaidTurn,
        payment: ReservationTerms,
        limits: PendingLimits = unlimited
      ) {
        const reserved = yield* ofDay({ ...payment, cause: message.id })
        return yield* append(message, { ...turn, ownKeysOnly: false }, limits, {
          reserving: sql`allowed as (select from waiting), ${reserved},`,
          from: sql`reserved`,
          reservationId: sql`(select reservation_id from reserved)`,
          // If the session was deleted during the wait for the lock, the message has no session, which undoes the
          // reservation.
          to: sql`reserved left join session on true`
        }).pipe(
          Effect.catchIf(
            (error) => error._tag === "SqlError" && isRowRejected(error.cause),
            () => Effect.succeed([])
          ),
          decodeMessage
        )
      }, withExportedSpan("ConversationRepository.appendPaidMessage")),
      appendUserMessage: Effect.fnUntraced(function* (
        message: NewMessage,
        { reservation, ...turn }: NewTurn,
        limits: PendingLimits = unlimited
      ) {
        const appended = yield* append(message, turn, limits, {
          reserving: sql``,
          from: sql`waiting`,
          reservationId: sql`${Option.getOrNull(reservation)}`,
          to: sql`session`
        }).pipe(decodeMessage)
        if (Option.isSome(appended)) return appended.value
        const counted = yield* countWaiting(message.sessionId).pipe(decodeFirstRow(Waiting))
        if (Option.isNone(counted)) return yield* new ChatSessionNotFound()
        return yield* counted.value.ofSession >= limits.session
          ? new PendingMessageLimitReached({ of: "session", limit: limits.session })
          : new PendingMessageLimitReached({ of: "user", limit: limits.user })
      }, withExportedSpan("ConversationRepository.appendUserMessage")),
      findMessage: Effect.fn("ConversationRepository.findMessage")((userId: UserId, id: MessageId) =>
        sql`
          select ${selectMessageColumns(sql)} from messages
          where id = ${toStorableText(id)} and user_id = ${userId} and sender = 'user'`.pipe(decodeFirstRow(MessageRow))
      ),
      findReply: Effect.fn("ConversationRepository.findReply")((message: Message) =>
        sql`
          select ${selectMessageColumns(sql)} from messages
          where session_id = ${message.sessionId} and seq = ${message.seq + 1} and sender = 'agent'
            and state = 'answered'`.pipe(decodeFirstRow(MessageRow))
      ),
      isNext: Effect.fn("ConversationRepository.isNext")(function* (message: Message) {
        const hasEarlier = yield* readExists(sql`
          select exists (
            select from messages
            where session_id = ${message.sessionId} and seq < ${message.seq} and state = 'pending'
          )`)
        return !hasEarlier
      }),
      storeReply: Effect.fnUntraced(function* (message: Message, { cost, ...reply }: NewReply) {
        const stored = directly(sql`${prepared}
          with ${answer(message, reply, {
            at: DateTime.toDate(yield* DateTime.now),
            units: sql`${cost?.units ?? null}`,
            costMicros: sql`${cost?.costMicros ?? null}::bigint`
          })}
          select ${selectMessageColumns(sql)} from reply`)
        return yield* decodeMessage(stored)
      }, withExportedSpan("ConversationRepository.storeReply")),
      // Locks the turn and its reservation in the lock order, so that the conditions hold for the changed rows.
      completeTurn: Effect.fnUntraced(function* (
        message: Message,
        reply: Omit<NewReply, "cost">,
        { costLimit, units }: TurnPriceLimit
      ) {
        const at = DateTime.toDate(yield* DateTime.now)
        const booked = yield* book(at)
        const completed = yield* directly(sql`${prepared}
          with ended as materialized (
            select turns.id as turn_id, reservations.id as held_by, cost_micros + held_micros as turn_cost
            from turns join reservations on reservations.id = reservation_id
            where turns.id = ${message.id} and own_calls = 0 and cost_micros + held_micros <= ${costLimit}::bigint
              and (unit_limit is null or unit_limit >= ${units}::bigint)
              and reservations.state = 'reserved' and daily_units + credit_units <= ${units}::bigint
            for update of turns, reservations
          ), removed as (
            delete from turns using ended where turns.id = turn_id
          ), settled as (
            update reservations
            set state = 'settled', settled_daily_units = daily_units, settled_credit_units = credit_units,
              model = ${reply.answeredBy === undefined ? null : toStorableText(reply.answeredBy.model)}
            from ended where reservations.id = held_by
            returning reservations.id, reservations.user_id, cause, daily_units, credit_units
          ), ${booked}, ${answer(message, reply, { at, units: sql`${units}`, costMicros: sql`turn_cost`, of: sql`from ended` })}
          select reply.id is not null as is_stored,
            (select daily_units + credit_units from settled) as charged, ${selectMessageColumns(sql)}
          from ended left join reply on true`).pipe(Effect.orDie)
        const outcome = yield* decodeCompleted(Effect.succeed(completed))
        if (Option.isNone(outcome)) return Option.none()
        charged.unsafeUpdate(outcome.value.charged, [])
        return Option.some(outcome.value.isStored ? yield* decodeMessage(Effect.succeed(completed)) : Option.none())
      }, withExportedSpan("ConversationRepository.completeTurn")),
      markFailed: Effect.fn("ConversationRepository.markFailed")(function* (
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
      findOutcome: Effect.fn("ConversationRepository.findOutcome")(function* (id: MessageId) {
        const found = yield* sql`
          select state, failure, coalesce(call_begun, true) as call_begun from messages
          where id = ${toStorableText(id)}`.pipe(decodeFirstRow(OutcomeRow))
        return Option.map(found, ({ failure, ...outcome }) => ({ ...outcome, reason: failure ?? undefined }))
      }),
      readRecord: Effect.fn("ConversationRepository.readRecord")(function* (
        sessionId: ChatSessionId,
        limit: number,
        before?: MessageId
      ) {
        const earlier =
          before === undefined
            ? []
            : [sql`seq < (select seq from messages where id = ${toStorableText(before)} and session_id = ${sessionId})`]
        const newestFirst = yield* sql`
          select ${selectMessageColumns(sql)} from messages where ${sql.and([sql`session_id = ${toStorableText(sessionId)}`, ...earlier])}
          order by seq desc limit ${limit}`.pipe(decodeRows(MessageRow))
        return Array.reverse(newestFirst)
      }),
      listByAgent: Effect.fn("ConversationRepository.listByAgent")(function* (
        agentId: AgentId,
        { limit, offset }: { readonly limit: number; readonly offset: number }
      ) {
        const messages = yield* sql`
          select ${selectMessageColumns(sql)} from messages where agent_id = ${agentId}
          order by created_at desc, seq desc limit ${limit} offset ${offset}`.pipe(decodeRows(MessageRow))
        const count = yield* readCount(sql`select count(*)::int from messages where agent_id = ${agentId}`)
        return { messages, total: count }
      }),
      findAgentFigures: Effect.fn("ConversationRepository.findAgentFigures")((agentId: AgentId, since: DateTime.Utc) =>
        sql`
          select
            count(*) filter (where sender = 'user' and state = 'answered')::int as answered,
            count(*) filter (where sender = 'user' and state = 'failed')::int as failed,
            count(*) filter (where sender = 'user' and created_at > ${DateTime.toDate(since)})::int as recent,
            (avg(duration_ms) filter (where sender = 'agent' and state = 'answered'))::float8 as average_answer_ms
          from messages where agent_id = ${agentId} and state <> 'pending'`.pipe(decodeSingleRow(MessageFigures))
      ),
      removeSessions: Effect.fn("ConversationRepository.removeSessions")(function* (userId: UserId) {
        const remove = countAffectedRows(sql`delete from chat_sessions where user_id = ${userId}`)
        return yield* Effect.orDie(sql.withTransaction(Effect.zipRight(lockMessages(userId), remove)))
      }),
      renameSession: Effect.fn("ConversationRepository.renameSession")(
        (userId: UserId, id: ChatSessionId, title: string | null) =>
          sql`
          update chat_sessions set title = ${title === null ? null : toStorableText(title)}
          where id = ${toStorableText(id)} and user_id = ${userId} returning *`.pipe(decodeFirstRow(ChatSessionRow))
      ),
      removeSession: Effect.fn("ConversationRepository.removeSession")(
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
      transfer: Effect.fn("ConversationRepository.transfer")(function* (agentId: AgentId, to: UserId) {
        yield* execute(sql`update chat_sessions set user_id = ${to} where agent_id = ${agentId}`)
        yield* execute(sql`update messages set user_id = ${to} where agent_id = ${agentId}`)
      }),
      listByUser: Effect.fn("ConversationRepository.listByUser")((userId: UserId, limit: number) =>
        sql`
          select ${selectMessageColumns(sql)} from messages where user_id = ${userId}
          order by created_at desc, seq desc limit ${limit}`.pipe(decodeRows(MessageRow))
      ),
      countByUser: Effect.fn("ConversationRepository.countByUser")((userId: UserId) =>
        readCount(sql`select count(*)::int from messages where user_id = ${userId}`)
      )
    })
  })
).pipe(Layer.provide(ReservationHolder.layer))
