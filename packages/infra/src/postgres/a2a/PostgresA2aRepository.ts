import { A2aEnvelope, type A2aMessage, A2aMessageId, type A2aSettings, A2aStatus } from "@berth/domain/a2a/A2aMessage"
import { type A2aAcceptance, A2aRepository } from "@berth/domain/a2a/A2aRepository"
import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { AgentId } from "@berth/domain/shared/AgentId"
import { Units } from "@berth/domain/shared/Money"
import { UserId } from "@berth/domain/shared/UserId"
import type { Fragment } from "@effect/sql/Statement"
import { Array, DateTime, Effect, Option, Schema } from "effect"
import {
  countAffectedRows,
  decodeFirstRow,
  decodeRows,
  decodeSingleRow,
  execute,
  mapFirstRow,
  readCount
} from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const SettingsRow = Schema.Struct({ allow: Schema.Array(Schema.String), skills: Schema.Array(Schema.String) })
const MessageRow = Schema.Struct({
  id: A2aMessageId,
  envelope: A2aEnvelope,
  chainId: A2aMessageId,
  depth: Schema.Int,
  path: Schema.Array(AgentId),
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  parentTurn: Schema.NullOr(Schema.String),
  budgetUnits: Schema.NullOr(Schema.Int),
  usedUnits: Schema.NullOr(Schema.Int),
  isForeign: Schema.Boolean,
  status: A2aStatus,
  reply: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  createdAt: Schema.DateTimeUtcFromDate,
  endedAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
})
const toMessage = ({ depth, path, ...row }: typeof MessageRow.Type): A2aMessage => ({ ...row, chain: { depth, path } })
const StartedRow = Schema.Struct({
  id: A2aMessageId,
  envelope: A2aEnvelope,
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  budgetUnits: Schema.NullOr(Schema.Int.pipe(Schema.fromBrand(Units))),
  ownerId: UserId,
  agentStatus: AgentStatus,
  senderName: Schema.String
})
const ReachableRow = Schema.Struct({
  id: AgentId,
  name: Schema.String,
  isOwn: Schema.Boolean,
  skills: Schema.Array(Schema.String)
})
const LostRow = Schema.Struct({ id: A2aMessageId })
const EndedRow = Schema.Struct({
  parentTurn: Schema.NullOr(Schema.String),
  rest: Schema.NullOr(Schema.Int.pipe(Schema.fromBrand(Units)))
})
const Known = Schema.Struct({ isEqual: Schema.Boolean })
const Counts = Schema.Struct({ sent: Schema.Int, received: Schema.Int })

const encodeEnvelope = Schema.encode(A2aEnvelope)

export const layer = Repository.layer(A2aRepository, (sql) => {
  const findMessages = sql`
    select m.id, envelope, chain_id, depth, path, expires_at, parent_turn, budget_units, used_units, m.status, reply, reason,
      m.created_at, m.ended_at, sender.owner_id <> receiver.owner_id as is_foreign
    from a2a_messages m join agents receiver on receiver.id = to_agent join agents sender on sender.id = from_agent`
  const findMessage = (where: Fragment) => sql`${findMessages} where ${where}`.pipe(mapFirstRow(MessageRow, toMessage))
  return {
    readSettings: (agentId) =>
      sql`select allow, skills from a2a_settings where agent_id = ${agentId}`.pipe(
        decodeFirstRow(SettingsRow),
        Effect.map((row) => Option.getOrElse(row, (): A2aSettings => ({ allow: [], skills: [] })))
      ),
    writeSettings: (agentId, { allow, skills }) =>
      execute(sql`
        insert into a2a_settings ${sql.insert({
          agentId,
          allow: (allow ?? []).map(toStorableText),
          skills: (skills ?? []).map(toStorableText)
        })}
        on conflict (agent_id) do update set
          ${allow === undefined ? sql`skills = excluded.skills` : sql`allow = excluded.allow`}`),
    removeSettings: (ownerId) =>
      execute(sql`
        delete from a2a_settings using agents where agents.id = a2a_settings.agent_id and owner_id = ${ownerId}`),
    listReachable: (agentId, ownerId) =>
      sql`
        select id, name, owner_id = ${ownerId} as is_own, coalesce(skills, '{}') as skills
        from agents left join a2a_settings on a2a_settings.agent_id = agents.id
        where id <> ${agentId} and (owner_id = ${ownerId} or allow && array[${agentId}, ${ownerId}]::text[])
        order by is_own desc, name, id limit 100`.pipe(decodeRows(ReachableRow)),
    insert: (id, { chain, chainId, envelope, expiresAt, parentTurn }, limits) =>
      Effect.orDie(
        Effect.gen(function* () {
          const { from, messageId, to } = envelope
          const stored = toStorableJson(yield* encodeEnvelope(envelope))
          // Serializes the messages of a sender, so that the limit is exact.
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
          if (chainId !== id) {
            const counted = yield* countAffectedRows(sql`
              update a2a_messages set chain_messages = chain_messages + 1
              where id = ${chainId} and chain_messages < ${limits.chain}`)
            if (counted === 0) return "chain-full" satisfies A2aAcceptance
          }
          yield* sql`insert into a2a_messages ${sql.insert({
            id,
            chainId,
            depth: chain.depth,
            path: chain.path,
            expiresAt: expiresAt === null ? null : DateTime.toDate(expiresAt),
            parentTurn,
            fromAgent: from,
            toAgent: to,
            messageId,
            envelope: stored,
            status: "waiting",
            createdAt: DateTime.toDate(yield* DateTime.now)
          })}`
          return "accepted" satisfies A2aAcceptance
        })
      ),
    setBudget: (id, units) => execute(sql`update a2a_messages set budget_units = ${units} where id = ${id}`),
    find: (id) => findMessage(sql`m.id = ${toStorableText(id)}`),
    findAnswered: (agentId) =>
      findMessage(sql`
        to_agent = ${agentId} and m.status = 'waiting'
          and exists (select from turns where turns.id = 'msg_' || substr(m.id, 5) and turns.agent_id = to_agent)
        order by depth desc, m.id limit 1`),
    findSent: (from, messageId) => findMessage(sql`from_agent = ${from} and message_id = ${toStorableText(messageId)}`),
    list: (agentId, { limit, offset }) =>
      Effect.gen(function* () {
        const isOf = sql`(from_agent = ${agentId} or to_agent = ${agentId})`
        const rows = yield* sql`
          ${findMessages} where ${isOf} order by m.created_at desc, m.id desc limit ${limit} offset ${offset}`.pipe(
          decodeRows(MessageRow)
        )
        const total = yield* readCount(sql`select count(*)::int from a2a_messages where ${isOf}`)
        return { messages: rows.map(toMessage), total }
      }),
    findInProgress: (id) =>
      sql`
        select m.id, m.envelope, m.expires_at, m.budget_units, receiver.owner_id, receiver.status as agent_status, sender.name as sender_name
        from a2a_messages m join agents receiver on receiver.id = m.to_agent join agents sender on sender.id = m.from_agent
        where m.id = ${id} and m.status = 'waiting'`.pipe(decodeFirstRow(StartedRow)),
    // Cost of the turn, and of the messages sent in it; messages in progress count with their budgets.
    finish: (id, end) =>
      sql`
        update a2a_messages m set status = ${end.status}, ended_at = now(),
          reply = ${end.reply === null ? null : toStorableText(end.reply)},
          reason = ${end.reason === null ? null : toStorableText(end.reason)},
          used_units = (
            select coalesce(sum(settled_daily_units + settled_credit_units), 0)::int
            from reservations join agents on agents.owner_id = reservations.user_id
            where agents.id = m.to_agent and reservations.cause = 'msg_' || substr(m.id, 5) and reservations.state = 'settled'
          ) + (
            select coalesce(sum(coalesce(sent.used_units, sent.budget_units, 0)), 0)::int
            from a2a_messages sent where sent.parent_turn = 'msg_' || substr(m.id, 5)
          )
        where id = ${id} and status = 'waiting'
        returning parent_turn, greatest(0, budget_units - used_units) as rest`.pipe(
        mapFirstRow(EndedRow, ({ parentTurn, rest }) =>
          parentTurn === null || rest === null ? Option.none() : Option.some({ parentTurn, units: rest })
        )
      ),
    listLost: sql`
      select id from a2a_messages where status = 'waiting' and created_at < now() - interval '1 day'
      order by created_at limit 1000`.pipe(decodeRows(LostRow), Effect.map(Array.map(({ id }) => id))),
    prune: (before) => countAffectedRows(sql`delete from a2a_messages where ended_at < ${DateTime.toDate(before)}`)
  }
})
