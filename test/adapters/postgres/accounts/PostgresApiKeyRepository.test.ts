import { ApiKey } from "@berth/domain/accounts/api-keys/ApiKey"
import { ApiKeyRepository } from "@berth/domain/accounts/api-keys/ApiKeyRepository"
import { ApiKeyId } from "@berth/domain/sessions/ApiKeyScope"
import type { UserId } from "@berth/domain/shared/UserId"
import * as PostgresApiKeyRepository from "@berth/infra/postgres/accounts/PostgresApiKeyRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import { eventually } from "../../../support/Eventually.ts"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.merge(PostgresApiKeyRepository.layer, PostgresUserRepository.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const start = DateTime.unsafeMake("2026-03-01T12:00:00.123Z")
const after = (seconds: number) => DateTime.add(start, { seconds })

const storeKey = (userId: UserId, more: Partial<ApiKey> = {}) =>
  Effect.gen(function* () {
    const name = yield* uniqueName("key")
    const key = ApiKey.make({
      id: ApiKeyId.make(name),
      userId,
      name: "deploy ☃",
      scopes: ["agents", "chat"],
      hint: "berth_abcd",
      createdAt: start,
      expiresAt: null,
      lastUsedAt: null,
      ...more
    })
    yield* (yield* ApiKeyRepository).insert(key, `hash of ${name}`)
    return { key, hash: `hash of ${name}` }
  })

layer(Live, { excludeTestServices: true })("ApiKeyRepository", (it) => {
  it.effect("ApiKeyRepository.findByHash returns the key with its owner, also when it has expired", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeyRepository
      const user = yield* insertUser()
      const forever = yield* storeKey(user.id)
      const expired = yield* storeKey(user.id, { expiresAt: after(-1), scopes: ["admin"], lastUsedAt: after(-5) })
      for (const { hash, key } of [forever, expired])
        assert.deepStrictEqual(yield* keys.findByHash(hash), Option.some({ key, user }))
      assert.deepStrictEqual(yield* keys.findByHash("another"), Option.none())
    })
  )

  it.effect("ApiKeyRepository.findByHash reads by an index", () =>
    Effect.gen(function* () {
      const user = yield* insertUser()
      yield* sql`
        insert into api_keys (id, user_id, name, key_hash, hint, scopes, created_at)
        select 'k' || n, ${user.id}, 'n', 'h' || n, 'berth_', '{chat}', now() from generate_series(1, 5000) as n`
      yield* sql`analyze api_keys`
      const plan = yield* sql`explain select * from api_keys where key_hash = 'h77'`
      assert.include(JSON.stringify(plan), "api_keys_key_hash_key")
    })
  )

  it.effect("ApiKeyRepository.findActiveIds returns the stored keys that have not expired", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeyRepository
      const user = yield* insertUser()
      const forever = (yield* storeKey(user.id)).key.id
      const ending = (yield* storeKey(user.id, { expiresAt: after(10) })).key.id
      const ids = [forever, ending, ApiKeyId.make("key_none")]
      assert.deepStrictEqual(yield* keys.findActiveIds(ids, after(9)), new Set([forever, ending]))
      assert.deepStrictEqual(yield* keys.findActiveIds(ids, after(10)), new Set([forever]))
      assert.deepStrictEqual(yield* keys.findActiveIds([], start), new Set())
    })
  )

  it.effect("ApiKeyRepository lists and counts the keys of one user, newest first, by page", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeyRepository
      const [user, other] = [yield* insertUser(), yield* insertUser()]
      yield* storeKey(other.id)
      const stored = yield* Effect.forEach([1, 2, 3], (n) => storeKey(user.id, { createdAt: after(n) }))
      const newestFirst = stored.map(({ key }) => key).toReversed()
      assert.deepStrictEqual(yield* keys.listByUser(user.id, { limit: 50, offset: 0 }), newestFirst)
      assert.deepStrictEqual(yield* keys.listByUser(user.id, { limit: 1, offset: 1 }), newestFirst.slice(1, 2))
      assert.strictEqual(yield* keys.countByUser(user.id), 3)
    })
  )

  it.effect("ApiKeyRepository.removeOwned removes a key of its user only", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeyRepository
      const [user, other] = [yield* insertUser(), yield* insertUser()]
      const { hash, key } = yield* storeKey(user.id)
      assert.isFalse(yield* keys.removeOwned(other.id, key.id))
      assert.isTrue(Option.isSome(yield* keys.findByHash(hash)))
      assert.isTrue(yield* keys.removeOwned(user.id, key.id))
      assert.isFalse(yield* keys.removeOwned(user.id, key.id))
      assert.isTrue(Option.isNone(yield* keys.findByHash(hash)))
    })
  )

  it.effect("ApiKeyRepository.removeSince removes the keys of a user that were created at a time or later", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeyRepository
      const [user, other] = [yield* insertUser(), yield* insertUser()]
      const older = yield* storeKey(user.id, { createdAt: after(-1) })
      yield* storeKey(user.id)
      yield* storeKey(user.id, { createdAt: after(1) })
      yield* storeKey(other.id)
      yield* keys.removeSince(user.id, start)
      assert.deepStrictEqual(yield* keys.listByUser(user.id, { limit: 50, offset: 0 }), [older.key])
      assert.strictEqual(yield* keys.countByUser(other.id), 1)
    })
  )

  it.effect("ApiKeyRepository.recordUse writes the last use once an interval has passed, and never backwards", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeyRepository
      const user = yield* insertUser()
      const { hash, key } = yield* storeKey(user.id)
      const lastUse = Effect.map(keys.findByHash(hash), (found) =>
        Option.match(found, {
          onNone: () => "none",
          onSome: (known) => (known.key.lastUsedAt === null ? "never" : DateTime.formatIso(known.key.lastUsedAt))
        })
      )
      /** A use of another key, recorded after the first in a later batch. */
      const recorded = (at: DateTime.Utc) =>
        Effect.gen(function* () {
          const marker = yield* storeKey(user.id)
          yield* keys.recordUse(key.id, at)
          yield* keys.recordUse(marker.key.id, start)
          yield* eventually(
            Effect.map(keys.findByHash(marker.hash), (found) =>
              Option.exists(found, (known) => known.key.lastUsedAt !== null)
            ),
            (isWritten) => isWritten
          )
          return yield* lastUse
        })
      const first = DateTime.formatIso(start)
      assert.strictEqual(yield* recorded(start), first)
      assert.strictEqual(yield* recorded(after(59)), first)
      assert.strictEqual(yield* recorded(after(-3600)), first)
      assert.strictEqual(yield* recorded(after(60)), DateTime.formatIso(after(60)))
    })
  )
})
