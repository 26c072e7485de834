import { A2aEnvelope, A2aMessageId, type A2aSettings, A2aStatus } from "@berth/domain/a2a/A2aMessage"
import { type A2aAcceptance, A2aRepository } from "@berth/domain/a2a/A2aRepository"
import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { countAffectedRows, decodeFirstRow, decodeRows, decodeSingleRow } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"

const SettingsRow = Schema.Struct({ allow: Schema.Array(Schema.String), skills: Schema.Array(Schema.String) })
const MessageRow = Schema.Struct({
  id: A2aMessageId,
  envelope: A2aEnvelope,
  status: A2aStatus,
  reply: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  createdAt: Schema.DateTimeUtcFromDate
})
const StartedRow = Schema.Struct({
  id: A2aMessageId,
  envelope: A2aEnvelope,
  ownerId: UserId,
  agentStatus: AgentStatus,
  senderName: Schema.String
})
const Known = Schema.Struct({ isEqual: Schema.Boolean })
const Counts = Schema.Struct({ sent: Schema.Int, received: Schema.Int })
const Total = Schema.Struct({ total: Schema.Int })

const encodeEnvelope = Schema.encode(A2aEnvelope)

export const layer: Layer.Layer<A2aRepository, never, SqlClient> = Layer.effect(
  A2aRepository,
  Effect.map(SqlClient, (sql) => {
    const columns = sql`id, envelope, status, reply, reason, created_at`
    return A2aRepository.of({
      readSettings: Effect.fn("A2aRepository.readSettings")(function* (agentId: AgentId) {
        const row = yield* sql`select allow, skills from a2a_settings where agent_id = ${agentId}`.pipe(
          decodeFirstRow(SettingsRow),
          Effect.orDie
        )
        return Option.getOrElse(row, (): A2aSettings => ({ allow: [], skills: [] }))
      }),
      writeSettings: Effect.fn("A2aRepository.writeSettings")(function* (
        agentId: AgentId,
        { allow, skills }: Partial<A2aSettings>
      ) {
        yield* sql`
          insert into a2a_settings ${sql.insert({
            agentId,
            allow: (allow ?? []).map(toStorableText),
            skills: (skills ?? []).map(toStorableText)
          })}
          on conflict (agent_id) do update set
            ${allow === undefined ? sql`skills = excluded.skills` : sql`allow = excluded.allow`}`.pipe(Effect.orDie)
      }),
      removeSettings: Effect.fn("A2aRepository.removeSettings")(function* (ownerId: UserId) {
        yield* sql`
          delete from a2a_settings using agents where agents.id = a2a_settings.agent_id and owner_id = ${ownerId}`.pipe(
          Effect.orDie
        )
      }),
      insert: Effect.fn("A2aRepository.insert")(function* (
        id: A2aMessageId,
        envelope: A2aEnvelope,
        limits: { readonly sender: number; readonly receiver: number }
      ) {
        const { from, messageId, to } = envelope
        const stored = toStorableJson(yield* encodeEnvelope(envelope))
        // Orders the messages of a sender, so that the limit is exact.
        yield* sql`select pg_advisory_xact_lock(hashtextextended(${`a2a of ${from}`}, 0))`
        const known = yield* sql`
            select envelope = ${stored}::jsonb as is_equal from a2a_messages
            where from_agent = ${from} and message_id = ${messageId}`.pipe(decodeFirstRow(Known))
        if (Option.isSome(known)) return (known.value.isEqual ? "known" : "conflict") satisfies A2aAcceptance
        const { received, sent } = yield* sql`
            select
              (select count(*) from a2a_messages where from_agent = ${from} and status = 'waiting')::int as sent,
              (select count(*) from a2a_messages where to_agent = ${to} and status = 'waiting')::int as received`.pipe(
          decodeSingleRow(Counts)
        )
        if (sent >= limits.sender || received >= limits.receiver) return "full" satisfies A2aAcceptance
        yield* sql`insert into a2a_messages ${sql.insert({
          id,
          fromAgent: from,
          toAgent: to,
          messageId,
          envelope: stored,
          status: "waiting",
          createdAt: DateTime.toDate(yield* DateTime.now)
        })}`
        return "accepted" satisfies A2aAcceptance
      }, Effect.orDie),
      findSent: Effect.fn("A2aRepository.findSent")(function* (from: AgentId, messageId: string) {
        return yield* sql`
          select ${columns} from a2a_messages
          where from_agent = ${from} and message_id = ${toStorableText(messageId)}`.pipe(
          decodeFirstRow(MessageRow),
          Effect.orDie
        )
      }),
      list: Effect.fn("A2aRepository.list")(function* (
        agentId: AgentId,
        { limit, offset }: { readonly limit: number; readonly offset: number }
      ) {
        const isOf = sql`(from_agent = ${agentId} or to_agent = ${agentId})`
        const messages = yield* sql`
          select ${columns} from a2a_messages where ${isOf}
          order by created_at desc, id desc limit ${limit} offset ${offset}`.pipe(decodeRows(MessageRow), Effect.orDie)
        const { total } = yield* sql`select count(*)::int as total from a2a_messages where ${isOf}`.pipe(
          decodeSingleRow(Total),
          Effect.orDie
        )
        return { messages, total }
      }),
      findInProgress: Effect.fn("A2aRepository.findInProgress")(function* (id: A2aMessageId) {
        return yield* sql`
          select m.id, m.envelope, receiver.owner_id, receiver.status as agent_status, sender.name as sender_name
          from a2a_messages m join agents receiver on receiver.id = m.to_agent join agents sender on sender.id = m.from_agent
          where m.id = ${id} and m.status = 'waiting'`.pipe(decodeFirstRow(StartedRow), Effect.orDie)
      }),
      finish: Effect.fn("A2aRepository.finish")(function* (
        id: A2aMessageId,
        end: { readonly status: A2aStatus; readonly reply: string | null; readonly reason: string | null }
      ) {
        const finished = yield* countAffectedRows(sql`
          update a2a_messages set status = ${end.status}, ended_at = now(),
            reply = ${end.reply === null ? null : toStorableText(end.reply)},
            reason = ${end.reason === null ? null : toStorableText(end.reason)}
          where id = ${id} and status = 'waiting'`).pipe(Effect.orDie)
        return finished === 1
      }),
      failLost: countAffectedRows(sql`
        update a2a_messages set status = 'failed', reason = 'The job of the message was lost.', ended_at = now()
        where status = 'waiting' and created_at < now() - interval '1 day'`).pipe(
        Effect.orDie,
        Effect.withSpan("A2aRepository.failLost")
      ),
      prune: Effect.fn("A2aRepository.prune")(function* (before: DateTime.Utc) {
        return yield* countAffectedRows(sql`delete from a2a_messages where ended_at < ${DateTime.toDate(before)}`).pipe(
          Effect.orDie
        )
      })
    })
  })
)
