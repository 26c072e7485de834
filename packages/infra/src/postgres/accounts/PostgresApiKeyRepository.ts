import { ApiKey, apiKeyUseInterval } from "@berth/domain/accounts/api-keys/ApiKey"
import { ApiKeyRepository } from "@berth/domain/accounts/api-keys/ApiKeyRepository"
import { ApiKeyId } from "@berth/domain/sessions/ApiKeyScope"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Duration, Effect, Schema } from "effect"
import { makeBatchWriter } from "../BatchWriter.ts"
import { makeKeyedRead } from "../KeyedReads.ts"
import { affectsRow, decodeRows, execute, listColumns, mapRows, readCount } from "../Rows.ts"
import { toUser, UserRow } from "../shared/UserRow.ts"
import { toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const keyColumns = {
  hint: ApiKey.fields.hint,
  scopes: ApiKey.fields.scopes,
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  lastUsedAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
}
const ApiKeyRow = Schema.Struct({ ...ApiKey.fields, ...keyColumns, createdAt: Schema.DateTimeUtcFromDate })
const KeyWithUser = Schema.Struct({
  ...UserRow.fields,
  ...keyColumns,
  keyId: ApiKeyId,
  keyName: Schema.String,
  keyCreatedAt: Schema.DateTimeUtcFromDate
})
const Active = Schema.Struct({ id: ApiKeyId })

const withUser = (row: typeof KeyWithUser.Type) => ({
  key: {
    id: row.keyId,
    userId: row.id,
    name: row.keyName,
    scopes: row.scopes,
    hint: row.hint,
    createdAt: row.keyCreatedAt,
    expiresAt: row.expiresAt,
    lastUsedAt: row.lastUsedAt
  },
  user: toUser(row)
})

const decodeByHash = mapRows(
  Schema.Struct({ ...KeyWithUser.fields, keyHash: Schema.String }),
  (row) => [row.keyHash, withUser(row)] as const
)

const columns = `${listColumns("users", UserRow)}, ${listColumns("api_keys", { fields: keyColumns })},
  api_keys.id as key_id, api_keys.name as key_name, api_keys.created_at as key_created_at`

const batchDelay = Duration.millis(250)
const retryDelay = Duration.seconds(1)
/** Further uses are not recorded. */
const maximumWaiting = 10_000

interface Use {
  readonly id: ApiKeyId
  readonly used_at: string
}

const toDateOrNull = (at: DateTime.Utc | null) => (at === null ? null : DateTime.toDate(at))

export const layer = Repository.layerEffect(
  ApiKeyRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    // The second condition handles concurrent processes that record the same use.
    const uses = yield* makeBatchWriter<Use>({
      rows: "api_keys",
      delay: batchDelay,
      retryDelay,
      maximumWaiting,
      insert: (rows) => sql`
        update api_keys set last_used_at = uses.used_at
        from (
          select id, max(used_at) as used_at from json_to_recordset(${JSON.stringify(rows)}::json)
            as use (id text, used_at timestamptz) group by id
        ) as uses
        where api_keys.id = uses.id and (
          last_used_at is null
          or last_used_at <= uses.used_at - make_interval(secs => ${Duration.toSeconds(apiKeyUseInterval)})
        )`
    })

    const findByHash = yield* makeKeyedRead(sql, {
      select: (wanted) => sql`
        select ${sql.literal(columns)}, api_keys.key_hash
        from ${wanted} join api_keys on api_keys.key_hash = wanted.key join users on users.id = api_keys.user_id
        where users.suspended_at is null`,
      decode: decodeByHash
    })

    return ApiKeyRepository.of({
      insert: (key, keyHash) =>
        execute(
          sql`insert into api_keys ${sql.insert({
            id: key.id,
            userId: key.userId,
            name: toStorableText(key.name),
            keyHash,
            hint: key.hint,
            scopes: key.scopes,
            createdAt: DateTime.toDate(key.createdAt),
            expiresAt: toDateOrNull(key.expiresAt),
            lastUsedAt: toDateOrNull(key.lastUsedAt)
          })}`
        ),
      findByHash,
      findActiveIds: (ids, now) =>
        Effect.gen(function* () {
          if (ids.length === 0) return new Set<ApiKeyId>()
          const rows = yield* sql`
            select api_keys.id from api_keys join users on users.id = api_keys.user_id
            where ${sql.in("api_keys.id", ids)} and suspended_at is null
              and (expires_at is null or expires_at > ${DateTime.toDate(now)})`.pipe(decodeRows(Active))
          return new Set(rows.map(({ id }) => id))
        }),
      listByUser: (userId, { limit, offset }) =>
        sql`
          select * from api_keys where user_id = ${userId}
          order by created_at desc, id desc limit ${limit} offset ${offset}`.pipe(decodeRows(ApiKeyRow)),
      countByUser: (userId) => readCount(sql`select count(*)::int from api_keys where user_id = ${userId}`),
      recordUse: (id, at) =>
        Effect.sync(() => {
          if (!uses.holds((use) => use.id === id)) uses.add({ id, used_at: DateTime.formatIso(at) })
        }),
      removeOwned: (userId, id) =>
        affectsRow(sql`delete from api_keys where id = ${toStorableText(id)} and user_id = ${userId}`),
      removeSince: (userId, since) =>
        execute(sql`delete from api_keys where user_id = ${userId} and created_at >= ${DateTime.toDate(since)}`)
    })
  }),
  { untraced: ["recordUse"] }
)
