import { ChannelConnection, ChannelKey, ChannelSecrets } from "@berth/domain/channels/ChannelConnection"
import { ChannelConnections } from "@berth/domain/channels/ChannelConnections"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { leaseDuration } from "@berth/domain/limits/Lease"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Duration, Effect, Option, Redacted, Schema } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, execute } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

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

export const layer = Repository.layerEffect(
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
      save: (key, { answersBots, secrets }) =>
        Effect.gen(function* () {
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
      setAnswersBots: (key, answersBots) =>
        execute(sql`
          update channel_connections as connection set answers_bots = ${answersBots} where ${isKey(key)}`),
      find: (key) => sql`${read} where ${isKey(key)}`.pipe(decodeFirstRow(ConnectionRow)),
      findWithSecrets: (key) =>
        Effect.gen(function* () {
          const row = yield* sql`
            select ${fields}, connection.secrets_sealed as sealed from ${tables} where ${isKey(key)}`.pipe(
            decodeFirstRow(ConnectionWithSecretsRow)
          )
          return yield* Effect.transposeMapOption(row, ({ sealed, ...connection }) =>
            Effect.map(openSecrets(key, sealed), (secrets) => ({ connection, secrets }))
          )
        }),
      list: (agentId) =>
        sql`${read} where connection.agent_id = ${agentId} order by connection.platform`.pipe(
          decodeRows(ConnectionRow)
        ),
      readSecrets: (key) =>
        Effect.gen(function* () {
          const row = yield* sql`
            select secrets_sealed as sealed from channel_connections as connection where ${isKey(key)}`.pipe(
            decodeFirstRow(SealedRow)
          )
          return yield* Effect.transposeMapOption(row, ({ sealed }) => openSecrets(key, sealed))
        }),
      recordHealth: (key, revision, { bot, reason, state, transport }) =>
        Effect.gen(function* () {
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
      refuseOthers: (key, botId, reason) =>
        sql`
          update channel_connections as connection set state = 'refused', reason = ${reason} from agents
          where agents.id = connection.agent_id and connection.platform = ${key.platform} and connection.bot ->> 'id' = ${botId}
            and connection.agent_id <> ${key.agentId} and connection.state <> 'refused'
          returning connection.agent_id, connection.platform, agents.owner_id`.pipe(decodeRows(DueRow)),
      remove: (key) => affectsRow(sql`delete from channel_connections as connection where ${isKey(key)}`),
      listDue: (before, limit) =>
        Effect.gen(function* () {
          const [retry, renew] = [DateTime.toDate(before.retry), DateTime.toDate(before.renew)]
          return yield* sql`
            select connection.agent_id, connection.platform, agents.owner_id
            from channel_connections as connection join agents on agents.id = connection.agent_id
            where (connection.state = 'pending' and connection.updated_at < ${retry})
              or (connection.state = 'unreachable' and connection.checked_at < ${retry})
              or (connection.state = 'connected' and connection.checked_at < ${renew})
            order by connection.checked_at nulls first limit ${limit}`.pipe(decodeRows(DueRow))
        }),
      listUnread: (limit) =>
        sql`
          ${read} where ${isReadable} and (connection.lease_until is null or connection.lease_until <= now())
          order by row_number() over (partition by agents.owner_id order by connection.lease_until nulls first),
            connection.lease_until nulls first
          limit ${limit}`.pipe(decodeRows(ConnectionRow)),
      claimReader: (key) =>
        Effect.gen(function* () {
          const claimId = yield* ids.next("req")
          const claimed = yield* sql`
            update channel_connections as connection set claim_id = ${claimId}, lease_until = ${leased}
            where ${isKey(key)} and ${isReadable} and (connection.lease_until is null or connection.lease_until <= now())
            returning connection.cursor`.pipe(decodeFirstRow(LeaseRow))
          return Option.map(claimed, ({ cursor }) => ({ claimId, cursor }))
        }),
      renewReader: (key, claimId) =>
        affectsRow(sql`
          update channel_connections as connection set lease_until = ${leased}
          where ${isKey(key)} and ${isHeld(claimId)} and ${isReadable}`),
      moveCursor: (key, claimId, cursor) =>
        affectsRow(sql`
          update channel_connections as connection set cursor = ${cursor}, lease_until = ${leased}
          where ${isKey(key)} and ${isHeld(claimId)} and connection.lease_until > now() and ${isReadable}`),
      releaseReader: (key, claimId) =>
        execute(sql`
          update channel_connections as connection set claim_id = null, lease_until = null
          where ${isKey(key)} and ${isHeld(claimId)}`)
    })
  })
)
