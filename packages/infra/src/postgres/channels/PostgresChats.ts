import type { ChannelKey } from "@berth/domain/channels/ChannelConnection"
import {
  ChatKey,
  InboundId,
  InboundMessage,
  OutboundMessage,
  type ReceivedMessage
} from "@berth/domain/channels/ChannelMessage"
import { Chats, type ChatWork, type FloodLimits, type Reception } from "@berth/domain/channels/Chats"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { ChatSessionId } from "@berth/domain/interaction/Conversation"
import { leaseDuration } from "@berth/domain/limits/Lease"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Duration, Effect, Option, Schema } from "effect"
import {
  affectsRow,
  countAffectedRows,
  decodeFirstRow,
  decodeSingleRow,
  execute,
  mapRows,
  readExists
} from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const Position = Schema.Struct({ position: Schema.NumberFromString, botStreak: Schema.Int })
const Known = Schema.Struct({ id: InboundId, isNewer: Schema.Boolean })
const Counts = Schema.Struct({ ofChat: Schema.Int, ofAgent: Schema.Int })
const Claimed = Schema.Struct({ sessionId: Schema.NullOr(ChatSessionId), isOfOwner: Schema.Boolean })
const Begun = Schema.Struct({ isRepeated: Schema.Boolean })
const Work = Schema.Struct({ toSend: Schema.NullOr(OutboundMessage), toAnswer: Schema.NullOr(InboundMessage) })
const Transcripts = Schema.Struct({ transcripts: Schema.Record({ key: Schema.String, value: Schema.String }) })
const Stranded = Schema.Struct({ ...ChatKey.fields, ownerId: UserId })

/** Younger work still has a job. */
const strandedAfter = Duration.seconds(5)

export const layer = Repository.layerEffect(
  Chats,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ids = yield* IdGenerator

    const seconds = (duration: Duration.Duration) => sql`make_interval(secs => ${Duration.toSeconds(duration)})`
    const leased = sql`now() + ${seconds(leaseDuration)}`
    const isChannel = ({ agentId, platform }: ChannelKey) =>
      sql`agent_id = ${toStorableText(agentId)} and platform = ${platform}`
    const isChat = (chat: ChatKey) => sql`${isChannel(chat)} and chat_id = ${toStorableText(chat.chatId)}`
    const isFree = sql`(lease_until is null or lease_until <= now())`
    const isDue = sql`(paused_until is null or paused_until <= now())`
    /** Condition of every write under a claim. */
    const isClaimed = (chat: ChatKey, claimId: string) =>
      sql`exists (select from channel_chats where ${isChat(chat)} and claim_id = ${claimId} and lease_until > now())`

    /**
     * Creates the chat if absent and locks it, which serializes its messages. None if the connection is deleted, or an
     * agent with `limit` messages in the last minute would get a new chat, since each sender would cause a row and a
     * notice.
     */
    const lockChat = (chat: ChatKey, limit: number | null = null) =>
      sql`
        insert into channel_chats (agent_id, platform, chat_id)
        select agent_id, platform, ${toStorableText(chat.chatId)} from channel_connections
        where ${isChannel(chat)} and (
          ${limit}::int is null or exists (select from channel_chats where ${isChat(chat)}) or (
            select count(*) from inbound_messages
            where agent_id = ${toStorableText(chat.agentId)} and received_at > now() - interval '1 minute'
          ) < ${limit}::int
        )
        on conflict (agent_id, platform, chat_id) do update set used_at = now()
        returning last_position as position, bot_streak`.pipe(decodeFirstRow(Position))

    const insertOutbound = Effect.fnUntraced(function* (
      chat: ChatKey,
      text: string,
      reply: { readonly inboundId: InboundId | null; readonly replyTo: string | null }
    ) {
      const row = {
        id: yield* ids.next("out"),
        agentId: chat.agentId,
        platform: chat.platform,
        chatId: toStorableText(chat.chatId),
        inboundId: reply.inboundId,
        replyTo: reply.replyTo,
        text: toStorableText(text),
        status: "pending",
        createdAt: DateTime.toDate(yield* DateTime.now)
      }
      yield* sql`insert into outbound_messages ${sql.insert(row)}`
    })

    const receive = Effect.fnUntraced(function* (key: ChannelKey, message: ReceivedMessage, limits: FloodLimits) {
      const chat = { ...key, chatId: message.chatId }
      const locked = yield* lockChat(chat, limits.agent)
      if (Option.isNone(locked)) return "known" satisfies Reception
      const content = toStorableJson(message.content)
      const stored = yield* sql`
        select id, status = 'waiting' and version < ${message.version} as is_newer from inbound_messages
        where ${isChannel(key)} and external_id = ${toStorableText(message.externalId)}`.pipe(decodeFirstRow(Known))
      if (Option.isSome(stored)) {
        if (!stored.value.isNewer) return "known" satisfies Reception
        yield* sql`
          update inbound_messages set content = ${content}::jsonb, version = ${message.version}
          where id = ${stored.value.id}`
        return "updated" satisfies Reception
      }
      const { ofAgent, ofChat } = yield* sql`
        select
          (select count(*) from inbound_messages
            where ${isChat(chat)} and received_at > now() - interval '1 minute')::int as of_chat,
          (select count(*) from inbound_messages
            where agent_id = ${key.agentId} and received_at > now() - interval '1 minute')::int as of_agent`.pipe(
        decodeSingleRow(Counts)
      )
      if (ofChat >= limits.chat || ofAgent >= limits.agent) return "flooded" satisfies Reception
      const botStreak = message.content.senderIsBot ? locked.value.botStreak + 1 : 0
      if (botStreak > limits.bots) return "looping" satisfies Reception
      const position = locked.value.position + 1
      yield* sql`
        with moved as (
          update channel_chats set last_position = ${position}, bot_streak = ${botStreak} where ${isChat(chat)}
        ), released as (
          update outbound_messages set status = 'pending' where ${isChat(chat)} and status = 'waiting'
        )
        insert into inbound_messages
          (id, agent_id, platform, chat_id, external_id, version, sequence, position, content, status, received_at)
        values (${yield* ids.next("inb")}, ${key.agentId}, ${key.platform}, ${toStorableText(message.chatId)},
          ${toStorableText(message.externalId)}, ${message.version}, ${message.sequence}, ${position},
          ${content}::jsonb, 'waiting', now())`
      return "stored" satisfies Reception
    })

    return Chats.of({
      receive: (key, message, limits) => Effect.orDie(receive(key, message, limits)),
      enqueue: (chat, text) =>
        Effect.orDie(Effect.zipRight(lockChat(chat), insertOutbound(chat, text, { inboundId: null, replyTo: null }))),
      expectOwner: (chat) => execute(sql`update channel_chats set of_owner = 'unverified' where ${isChat(chat)}`),
      verifyOwner: (agentId) =>
        execute(sql`
          update channel_chats set of_owner = 'verified' where agent_id = ${agentId} and of_owner is not null`),
      claim: (chat) =>
        Effect.gen(function* () {
          const claimId = yield* ids.next("req")
          const claimed = yield* sql`
            update channel_chats set claim_id = ${claimId}, lease_until = ${leased}
            where ${isChat(chat)} and ${isFree} and ${isDue}
            returning session_id, of_owner is not distinct from 'verified' as is_of_owner`.pipe(decodeFirstRow(Claimed))
          return Option.map(claimed, (chat) => ({ claimId, ...chat }))
        }),
      renew: (chat, claimId) =>
        affectsRow(sql`
          update channel_chats set lease_until = ${leased} where ${isChat(chat)} and claim_id = ${claimId}`),
      release: (chat, claimId) =>
        execute(sql`
          update channel_chats set claim_id = null, lease_until = null
          where ${isChat(chat)} and claim_id = ${claimId}`),
      findWork: (chat) =>
        Effect.gen(function* () {
          const { toAnswer, toSend } = yield* sql`
            select (
              select jsonb_build_object('id', id, 'agentId', agent_id, 'platform', platform, 'chatId', chat_id,
                'replyTo', reply_to, 'text', text, 'partsSent', parts_sent, 'startedPart', started_part,
                'failures', failures)
              from outbound_messages where ${isChat(chat)} and status = 'pending' order by id limit 1
            ) as to_send, (
              select jsonb_build_object('id', id, 'agentId', agent_id, 'platform', platform, 'chatId', chat_id,
                'content', content, 'failedTurns', failed_turns,
                'sinceFirstTurn', coalesce(extract(epoch from now() - first_turn_at) * 1000, 0)::float8)
              from inbound_messages where ${isChat(chat)} and status = 'waiting' order by sequence, position limit 1
            ) as to_answer`.pipe(decodeSingleRow(Work))
          if (toSend !== null) return Option.some<ChatWork>({ _tag: "Send", message: toSend })
          return Option.map(Option.fromNullable(toAnswer), (message): ChatWork => ({ _tag: "Answer", message }))
        }),
      hasWork: (chat) =>
        readExists(sql`
          select exists (select from channel_chats where ${isChat(chat)} and ${isDue}) and (
            exists (select from outbound_messages where ${isChat(chat)} and status = 'pending')
            or exists (select from inbound_messages where ${isChat(chat)} and status = 'waiting')
          ) as exists`),
      pause: (chat, pause) =>
        execute(sql`
          update channel_chats set paused_until = now() + ${seconds(pause)} where ${isChat(chat)}`),
      repeatLater: (message, pause, why) =>
        Effect.gen(function* () {
          yield* sql`
            update inbound_messages
            set failed_turns = failed_turns + ${why === "unbegun" ? 1 : 0}::int, first_turn_at = coalesce(first_turn_at, now())
            where id = ${message.id} and failed_turns = ${message.failedTurns}`
          yield* sql`update channel_chats set paused_until = now() + ${seconds(pause)} where ${isChat(message)}`
        }).pipe(sql.withTransaction, Effect.orDie),
      findTranscripts: (id) =>
        sql`select transcripts from inbound_messages where id = ${id}`.pipe(
          decodeFirstRow(Transcripts),
          Effect.map(
            (chat) =>
              new Map(Object.entries(Option.match(chat, { onNone: () => ({}), onSome: (row) => row.transcripts })))
          )
        ),
      storeTranscript: (id, file, text) =>
        execute(sql`
          update inbound_messages set transcripts = transcripts || ${toStorableJson({ [file]: text })}::jsonb
          where id = ${id} and status = 'waiting'`),
      setSession: (chat, sessionId) =>
        execute(sql`update channel_chats set session_id = ${sessionId} where ${isChat(chat)}`),
      answer: (message, claimId, { reply, status }) =>
        Effect.gen(function* () {
          const hasEnded = yield* affectsRow(sql`
            update inbound_messages set status = ${status}, content = null, transcripts = '{}'
            where id = ${message.id} and status = 'waiting' and ${isClaimed(message, claimId)}`)
          if (hasEnded && reply !== undefined)
            yield* insertOutbound(message, reply.text, { inboundId: message.id, replyTo: reply.replyTo })
          return hasEnded
        }).pipe(sql.withTransaction, Effect.orDie),
      beginPart: (message, claimId, part) =>
        Effect.gen(function* () {
          const begun = yield* sql`
            update outbound_messages as message
            set started_part = ${part}, repeats = message.repeats + (before.started_part is not distinct from ${part})::int
            from (
              select id, started_part from outbound_messages
              where id = ${message.id} and status = 'pending' and parts_sent = ${part} for update
            ) as before
            where message.id = before.id and ${isClaimed(message, claimId)}
            returning before.started_part is not distinct from ${part} as is_repeated`.pipe(decodeFirstRow(Begun))
          if (Option.isNone(begun)) return "lost"
          return begun.value.isRepeated ? "repeated" : "begun"
        }),
      completePart: (id, part, { externalId, isLast }) =>
        execute(sql`
          update outbound_messages
          set parts_sent = ${part + 1}, started_part = null, failures = 0, status = ${isLast ? "sent" : "pending"},
            text = case when ${isLast}::boolean then '' else text end,
            external_ids = external_ids || ${toStorableText(externalId)}::text
          where id = ${id} and parts_sent = ${part}`),
      postpone: (message, pause, { mayHaveArrived }) =>
        Effect.gen(function* () {
          const started = mayHaveArrived ? sql`started_part` : sql`null`
          yield* sql`
            update outbound_messages set failures = failures + 1, started_part = ${started} where id = ${message.id}`
          yield* sql`update channel_chats set paused_until = now() + ${seconds(pause)} where ${isChat(message)}`
        }).pipe(sql.withTransaction, Effect.orDie),
      fail: (id, reason) =>
        execute(sql`
          update outbound_messages
          set status = case when inbound_id is null and parts_sent = 0 then 'waiting' else 'failed' end,
            started_part = null, reason = ${toStorableText(reason)}
          where id = ${id}`),
      mayNotify: (chat, interval) =>
        affectsRow(sql`
          update channel_chats set notified_at = now()
          where ${isChat(chat)} and (notified_at is null or notified_at <= now() - ${seconds(interval)})`),
      listStranded: (limit) =>
        sql`
          select chat.agent_id, chat.platform, chat.chat_id, agents.owner_id
          from (
            select agent_id, platform, chat_id, min(since) as since from (
              select agent_id, platform, chat_id, received_at as since from inbound_messages where status = 'waiting'
              union all
              select agent_id, platform, chat_id, created_at from outbound_messages where status = 'pending'
            ) as work
            where since < now() - ${seconds(strandedAfter)}
            group by 1, 2, 3
          ) as work
          join channel_chats as chat using (agent_id, platform, chat_id)
          join channel_connections as connection using (agent_id, platform)
          join agents on agents.id = chat.agent_id
          where connection.state in ('connected', 'unreachable') and connection.bot is not null
            and (chat.lease_until is null or chat.lease_until <= now())
            and (chat.paused_until is null or chat.paused_until <= now())
          order by work.since limit ${limit}`.pipe(mapRows(Stranded, ({ ownerId, ...chat }) => ({ chat, ownerId }))),
      prune: (before) =>
        Effect.gen(function* () {
          const until = DateTime.toDate(before.messages)
          const inbound = yield* countAffectedRows(
            sql`delete from inbound_messages where status <> 'waiting' and received_at < ${until}`
          )
          const outbound = yield* countAffectedRows(
            sql`delete from outbound_messages where status in ('sent', 'failed') and created_at < ${until}`
          )
          // Every message updates `used_at`, so that a chat in use is kept. An owner is recognized only once.
          const chats = yield* countAffectedRows(sql`
            delete from channel_chats where used_at < ${DateTime.toDate(before.chats)} and ${isFree} and of_owner is null`)
          return inbound + outbound + chats
        })
    })
  })
)
