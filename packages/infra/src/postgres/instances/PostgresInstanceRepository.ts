import { Instance } from "@berth/domain/instances/Instance"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { Digests, hashSecret } from "@berth/domain/secrets/Digests"
import { Tokens } from "@berth/domain/secrets/Tokens"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { SqlClient } from "@effect/sql/SqlClient"
import { Array, DateTime, Effect, type Layer, type Redacted, Schema } from "effect"
import { makeAdvisoryLocks } from "../AdvisoryLocks.ts"
import { makeKeyedRead } from "../KeyedReads.ts"
import { affectsRow, decodeRows, decodeSingleRow, execute, mapFirstRow, mapRows, readCount } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { withExportedSpan } from "@berth/domain/shared/SpanExport"
import * as Repository from "../Repository.ts"

const InstanceRow = Schema.Struct({
  ...Instance.fields,
  startedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  createdAt: Schema.DateTimeUtcFromDate
})
const ListedRow = Schema.Struct({ ...InstanceRow.fields, ownerEmail: Schema.String, ownerName: Schema.String })
const toInstance = (row: typeof InstanceRow.Type) => new Instance(row)

const Owner = Schema.Struct({ ownerId: UserId })
const decodeOwners = mapRows(
  Schema.Struct({ ownerId: UserId, runtimeTokenHash: Schema.String }),
  (row) => [row.runtimeTokenHash, row.ownerId] as const
)
const Mark = Schema.Struct({ ownerId: UserId, mark: Schema.String })
const SealedToken = Schema.Struct({ sealed: Schema.NullOr(Schema.String) })

/** Capacity of the token cache. */
const maximumRuntimeTokens = 10_000

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const locks = yield* makeAdvisoryLocks
  const box = yield* SecretBox
  const tokens = yield* Tokens
  const digests = yield* Digests

  const columns = sql.literal(
    "owner_id as user_id, subdomain, desired, status, started_at, runtime_version, created_at"
  )

  const findByTokenHash = yield* makeKeyedRead(sql, {
    select: (wanted) => sql`
      select owner_id, runtime_token_hash
      from ${wanted} join instances on runtime_token_hash = wanted.key join users on users.id = owner_id
      where suspended_at is null`,
    decode: decodeOwners
  })

  const isUnused = (since: DateTime.Utc) =>
    sql`desired = 'up' and last_used_at < ${DateTime.toDate(since)} and ${sql.in("status", ["running", "active"])}`

  const read = (userId: UserId) => sql`select ${columns} from instances where owner_id = ${toStorableText(userId)}`

  /** Returns the token in `column`, created if absent: the first write wins, and all callers read it. */
  const token = Effect.fnUntraced(function* (column: "runtime_token_sealed" | "gateway_token_sealed", userId: UserId) {
    const context = `instances.${column}:${userId}`
    const stored = sql`select ${sql(column)} as sealed from instances where owner_id = ${userId}`.pipe(
      decodeSingleRow(SealedToken)
    )
    const { sealed } = yield* stored
    if (sealed !== null) return yield* box.open(sealed, context)
    const created = yield* tokens.make
    const hash = column === "runtime_token_sealed" ? [sql`runtime_token_hash = ${hashSecret(digests, created)}`] : []
    yield* sql`
      update instances set ${sql.csv([sql`${sql(column)} = ${yield* box.seal(created, context)}`, ...hash])}
      where owner_id = ${userId} and ${sql(column)} is null`
    const existing = yield* stored
    return existing.sealed === null ? created : yield* box.open(existing.sealed, context)
  }, Effect.orDie)

  const runtimeTokens = new Map<UserId, Redacted.Redacted>()
  const keepRuntimeToken = (userId: UserId, created: Redacted.Redacted) =>
    Effect.sync(() => {
      if (runtimeTokens.size >= maximumRuntimeTokens) runtimeTokens.clear()
      runtimeTokens.set(userId, created)
    })

  return InstanceRepository.of({
    ensure: (userId, subdomain) =>
      Effect.gen(function* () {
        const now = yield* DateTime.now
        yield* execute(sql`
          insert into instances ${sql.insert({
            ownerId: userId,
            subdomain,
            desired: "down",
            status: "provisioning",
            lastUsedAt: DateTime.toDate(now),
            createdAt: DateTime.toDate(now)
          })}
          on conflict (owner_id) do nothing`)
        return toInstance(yield* read(userId).pipe(decodeSingleRow(InstanceRow)))
      }),
    find: (userId) => read(userId).pipe(mapFirstRow(InstanceRow, toInstance)),
    findOwnerBySubdomain: (subdomain) =>
      sql`select owner_id from instances where subdomain = ${subdomain}`.pipe(
        mapFirstRow(Owner, ({ ownerId }) => ownerId)
      ),
    update: (userId, changes) =>
      Effect.gen(function* () {
        const { startedAt, ...rest } = changes
        const values = {
          ...rest,
          ...(startedAt === undefined ? {} : { startedAt: startedAt === null ? null : DateTime.toDate(startedAt) }),
          ...(rest.desired === "up" ? { lastUsedAt: DateTime.toDate(yield* DateTime.now) } : {})
        }
        if (Object.keys(values).length === 0) return
        yield* execute(sql`update instances set ${sql.update(values)} where owner_id = ${userId}`)
      }),
    list: ({ limit, offset }) =>
      Effect.gen(function* () {
        const rows = yield* sql`
          select ${columns}, (select email from users where id = owner_id) as owner_email,
            (select name from users where id = owner_id) as owner_name
          from instances order by created_at desc, owner_id desc limit ${limit} offset ${offset}`.pipe(
          decodeRows(ListedRow)
        )
        const total = yield* readCount(sql`select count(*)::int from instances`)
        return {
          instances: Array.map(rows, ({ ownerEmail, ownerName, ...row }) => ({
            instance: toInstance(row),
            ownerEmail,
            ownerName
          })),
          total
        }
      }),
    listDesired: (desired) =>
      sql`select ${columns} from instances where desired = ${desired} order by created_at`.pipe(
        mapRows(InstanceRow, toInstance)
      ),
    recordUse: (userIds) =>
      Effect.gen(function* () {
        if (userIds.length === 0) return new Set()
        const rows = yield* sql`
          update instances set last_used_at = ${DateTime.toDate(yield* DateTime.now)}
          where ${sql.in("owner_id", userIds)} and desired = 'up' returning owner_id`.pipe(decodeRows(Owner))
        return new Set(Array.map(rows, ({ ownerId }) => ownerId))
      }),
    listUnused: (since) =>
      sql`
        select owner_id from instances
        where ${isUnused(since)} order by last_used_at`.pipe(mapRows(Owner, ({ ownerId }) => ownerId)),
    markAsleep: (userId, since) =>
      affectsRow(sql`
        update instances set desired = 'asleep', started_at = null
        where owner_id = ${userId} and ${isUnused(since)}`),
    // Hot path: a runtime token is valid as long as its row exists, which is never recreated for the same user.
    ensureRuntimeToken: (userId: UserId) =>
      Effect.suspend(() => {
        const cached = runtimeTokens.get(userId)
        return cached === undefined
          ? Effect.tap(token("runtime_token_sealed", userId), (created) => keepRuntimeToken(userId, created))
          : Effect.succeed(cached)
      }).pipe(withExportedSpan("InstanceRepository.ensureRuntimeToken")),
    findByRuntimeToken: (shown) => findByTokenHash(hashSecret(digests, shown)),
    ensureGatewayToken: (userId) => token("gateway_token_sealed", userId),
    revokeGatewayToken: (userId) =>
      execute(sql`update instances set gateway_token_sealed = null where owner_id = ${toStorableText(userId)}`),
    listGatewayTokenVersions: (userIds) =>
      Effect.gen(function* () {
        if (userIds.length === 0) return new Map<UserId, string>()
        // Sealing is randomized, so the digest of the sealed text identifies a token. The digest is not secret.
        const rows = yield* sql`
          select owner_id, md5(gateway_token_sealed) as mark from instances join users on users.id = owner_id
          where ${sql.in("owner_id", userIds)} and gateway_token_sealed is not null and suspended_at is null`.pipe(
          decodeRows(Mark)
        )
        return new Map(rows.map(({ mark, ownerId }) => [ownerId, mark]))
      }),
    serialized: (userId, effect) => locks.withLock(`instance of ${userId}`, effect)
  })
})

export const layer: Layer.Layer<InstanceRepository, never, PgClient | SqlClient | SecretBox | Digests | Tokens> =
  Repository.layerEffect(InstanceRepository, make, {
    untraced: ["ensureRuntimeToken", "serialized"]
  })
