import {
  ChannelConnection,
  type ChannelHealth,
  ChannelKey,
  ChannelSecrets
} from "@berth/domain/channels/ChannelConnection"
import { ChannelConnections } from "@berth/domain/channels/ChannelConnections"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { leaseDuration } from "@berth/domain/limits/Lease"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, execute } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"

const ConnectionRow = Schema.Struct({
  ...ChannelConnection.fields,
  checkedAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
})
const DueRow = Schema.Struct({ ...ChannelKey.fields, ownerId: UserId })
const ConnectionWithSecretsRow = Schema.Struct({ ...ConnectionRow.fields, sealed: Schema.String })
const SealedRow = Schema.Struct({ sealed: Schema.String })
const LeaseRow = Schema.Struct({ cursor: Schema.NullOr(Schema.String) })
const SecretsText = Schema.parseJson(ChannelSecrets)
const decodeSecrets = Schema.decode(SecretsText)
const encodeSecrets = Schema.encode(SecretsText)

const sealContext = ({ agentId, platform }: ChannelKey) => `channel_connections.secrets_sealed:${agentId}:${platform}`

export const layer: Layer.Layer<ChannelConnections, never, SqlClient | SecretBox | IdGenerator> = Layer.effect(
  ChannelConnections,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const box = yield* SecretBox
    const ids = yield* IdGenerator

    const isKey = ({ agentId, platform }: ChannelKey) =>
      sql`connection.agent_id = ${toStorableText(agentId)} and connection.platform = ${platform}`

    const fields = sql`
      connection.agent_id, connection.platform, agents.owner_id, agents.name as agent_name,
        agents.status as agent_status, agents.config -> 'channels' as selected_channels, connection.revision,
        connection.answers_bots, connection.state, connection.reason, connection.checked_at, connection.bot,
        connection.transport`
    const tables = sql`channel_connections as connection join agents on agents.id = connection.agent_id`
    const read = sql`select ${fields} from ${tables}`

    const openSecrets = (key: ChannelKey, sealed: string) =>
      Effect.flatMap(box.open(sealed, sealContext(key)), (text) => decodeSecrets(Redacted.value(text))).pipe(
        Effect.orDie
      )

    /** By the database's clock, since clocks of hosts differ. */
    const leased = sql`now() + make_interval(secs => ${Duration.toSeconds(leaseDuration)})`
    const isReadable = sql`
      connection.state = 'connected' and connection.transport = 'polling'
      and exists (
        select from agents join users on users.id = agents.owner_id
        where agents.id = connection.agent_id and agents.config -> 'channels' ? connection.platform
          and agents.status in ('running', 'active') and users.suspended_at is null
      )`
    const isHeld = (claimId: string) => sql`connection.claim_id = ${claimId}`

    return ChannelConnections.of({
      save: Effect.fn("ChannelConnections.save")(function* (
        key: ChannelKey,
        { answersBots, secrets }: { readonly secrets: ChannelSecrets; readonly answersBots: boolean }
      ) {
        const text = yield* Effect.orDie(encodeSecrets(secrets))
        const row = {
          ...key,
          secretsSealed: yield* box.seal(Redacted.make(text), sealContext(key)),
          answersBots,
          state: "pending",
          updatedAt: DateTime.toDate(yield* DateTime.now)
        }
        yield* execute(sql`
          insert into channel_connections as connection ${sql.insert(row)}
          on conflict (agent_id, platform) do update
          set secrets_sealed = excluded.secrets_sealed, answers_bots = excluded.answers_bots, state = excluded.state,
            revision = connection.revision + 1, reason = null, checked_at = null, bot = null, transport = null,
            cursor = null, claim_id = null, lease_until = null, updated_at = excluded.updated_at`)
      }),
      setAnswersBots: Effect.fn("ChannelConnections.setAnswersBots")((key: ChannelKey, answersBots: boolean) =>
        execute(sql`
          update channel_connections as connection set answers_bots = ${answersBots} where ${isKey(key)}`)
      ),
      find: Effect.fn("ChannelConnections.find")((key: ChannelKey) =>
        sql`${read} where ${isKey(key)}`.pipe(decodeFirstRow(ConnectionRow))
      ),
      findWithSecrets: Effect.fn("ChannelConnections.findWithSecrets")(function* (key: ChannelKey) {
        const row = yield* sql`
          select ${fields}, connection.secrets_sealed as sealed from ${tables} where ${isKey(key)}`.pipe(
          decodeFirstRow(ConnectionWithSecretsRow)
        )
        return yield* Effect.transposeMapOption(row, ({ sealed, ...connection }) =>
          Effect.map(openSecrets(key, sealed), (secrets) => ({ connection, secrets }))
        )
      }),
      list: Effect.fn("ChannelConnections.list")((agentId: AgentId) =>
        sql`${read} where connection.agent_id = ${agentId} order by connection.platform`.pipe(decodeRows(ConnectionRow))
      ),
      readSecrets: Effect.fn("ChannelConnections.readSecrets")(function* (key: ChannelKey) {
        const row = yield* sql`
          select secrets_sealed as sealed from channel_connections as connection where ${isKey(key)}`.pipe(
          decodeFirstRow(SealedRow)
        )
        return yield* Effect.transposeMapOption(row, ({ sealed }) => openSecrets(key, sealed))
      }),
      recordHealth: Effect.fn("ChannelConnections.recordHealth")(function* (
        key: ChannelKey,
        revision: number,
        { bot, reason, state, transport }: ChannelHealth
      ) {
        const changes = [
          sql`state = ${state}`,
          sql`reason = ${reason === null ? null : toStorableText(reason)}`,
          sql`checked_at = ${DateTime.toDate(yield* DateTime.now)}`,
          ...(bot === undefined ? [] : [sql`bot = ${toStorableJson(bot)}::jsonb`]),
          ...(transport === undefined ? [] : [sql`transport = ${transport}`])
        ]
        return yield* affectsRow(sql`
          update channel_connections as connection set ${sql.csv(changes)}
          where ${isKey(key)} and connection.revision = ${revision}`)
      }),
      refuseOthers: Effect.fn("ChannelConnections.refuseOthers")((key: ChannelKey, botId: string, reason: string) =>
        sql`
          update channel_connections as connection set state = 'refused', reason = ${reason} from agents
          where agents.id = connection.agent_id and connection.platform = ${key.platform} and connection.bot ->> 'id' = ${botId}
            and connection.agent_id <> ${key.agentId} and connection.state <> 'refused'
          returning connection.agent_id, connection.platform, agents.owner_id`.pipe(decodeRows(DueRow))
      ),
      remove: Effect.fn("ChannelConnections.remove")((key: ChannelKey) =>
        affectsRow(sql`delete from channel_connections as connection where ${isKey(key)}`)
      ),
      listDue: Effect.fn("ChannelConnections.listDue")(function* (
        before: { readonly retry: DateTime.Utc; readonly renew: DateTime.Utc },
        limit: number
      ) {
        const [retry, renew] = [DateTime.toDate(before.retry), DateTime.toDate(before.renew)]
        return yield* sql`
          select connection.agent_id, connection.platform, agents.owner_id
          from channel_connections as connection join agents on agents.id = connection.agent_id
          where (connection.state = 'pending' and connection.updated_at < ${retry})
            or (connection.state = 'unreachable' and connection.checked_at < ${retry})
            or (connection.state = 'connected' and connection.checked_at < ${renew})
          order by connection.checked_at nulls first limit ${limit}`.pipe(decodeRows(DueRow))
      }),
      listUnread: Effect.fn("ChannelConnections.listUnread")((limit: number) =>
        sql`
          ${read} where ${isReadable} and (connection.lease_until is null or connection.lease_until <= now())
          order by row_number() over (partition by agents.owner_id order by connection.lease_until nulls first),
            connection.lease_until nulls first
          limit ${limit}`.pipe(decodeRows(ConnectionRow))
      ),
      claimReader: Effect.fn("ChannelConnections.claimReader")(function* (key: ChannelKey) {
        const claimId = yield* ids.next("req")
        const claimed = yield* sql`
          update channel_connections as connection set claim_id = ${claimId}, lease_until = ${leased}
          where ${isKey(key)} and ${isReadable} and (connection.lease_until is null or connection.lease_until <= now())
          returning connection.cursor`.pipe(decodeFirstRow(LeaseRow))
        return Option.map(claimed, ({ cursor }) => ({ claimId, cursor }))
      }),
      renewReader: Effect.fn("ChannelConnections.renewReader")((key: ChannelKey, claimId: string) =>
        affectsRow(sql`
          update channel_connections as connection set lease_until = ${leased}
          where ${isKey(key)} and ${isHeld(claimId)} and ${isReadable}`)
      ),
      moveCursor: Effect.fn("ChannelConnections.moveCursor")(
        (key: ChannelKey, claimId: string, cursor: string | null) =>
          affectsRow(sql`
          update channel_connections as connection set cursor = ${cursor}, lease_until = ${leased}
          where ${isKey(key)} and ${isHeld(claimId)} and connection.lease_until > now() and ${isReadable}`)
      ),
      releaseReader: Effect.fn("ChannelConnections.releaseReader")((key: ChannelKey, claimId: string) =>
        execute(sql`
          update channel_connections as connection set claim_id = null, lease_until = null
          where ${isKey(key)} and ${isHeld(claimId)}`)
      )
    })
  })
)
