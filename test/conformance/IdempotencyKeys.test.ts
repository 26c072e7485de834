import { Claim, claimLease, IdempotencyKeys, keyLifetime } from "@berth/domain/limits/IdempotencyKeys"
import * as PostgresIdempotencyKeys from "@berth/infra/postgres/IdempotencyKeys"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, TestClock, TestContext } from "effect"
import * as MigratedDatabase from "../support/MigratedDatabase.ts"
import { unique } from "../support/Samples.ts"
import * as TestSecrets from "../support/TestSecrets.ts"

const Live = PostgresIdempotencyKeys.layer.pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const newKey = Effect.map(unique("key"), (key) => ({ principal: "usr_1", route: "POST /api/provision", key }))
const response = { status: 201, headers: { "content-type": "application/json" }, body: '{"secret":"s3cr3t-value"}' }

const claimed = (claim: Claim) => (claim._tag === "Claimed" ? claim.id : assert.fail(`was ${claim._tag}`))

layer(Live, { excludeTestServices: true })("IdempotencyKeys", (it) => {
  it.effect("gives the work to one of many at once, and to the rest its answer when it is done", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const claims = yield* Effect.replicateEffect(keys.claim(key, "hash"), 30, { concurrency: "unbounded" })
      const [first] = claims.filter(Claim.$is("Claimed"))
      assert.strictEqual(claims.filter(Claim.$is("InProgress")).length, 29)
      if (first === undefined) return assert.fail("nobody has the claim")
      assert.isTrue(yield* keys.complete(key, first.id, response))
      assert.deepStrictEqual(yield* keys.claim(key, "hash"), Claim.Replay({ response }))
      assert.isFalse(yield* keys.complete(key, first.id, { ...response, status: 500 }))
      yield* keys.abandon(key, first.id)
      assert.deepStrictEqual(yield* keys.claim(key, "hash"), Claim.Replay({ response }))
    })
  )

  it.effect("tells another request from the first one, before and after its answer", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const id = claimed(yield* keys.claim(key, "hash"))
      assert.deepStrictEqual(yield* keys.claim(key, "other hash"), Claim.KeyReused())
      yield* keys.complete(key, id, response)
      assert.deepStrictEqual(yield* keys.claim(key, "other hash"), Claim.KeyReused())
    })
  )

  it.effect("keeps the keys of principals and routes apart", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      claimed(yield* keys.claim(key, "hash"))
      claimed(yield* keys.claim({ ...key, principal: "usr_2" }, "hash"))
      claimed(yield* keys.claim({ ...key, route: "POST /api/v1/gateway" }, "hash"))
      claimed(yield* keys.claim({ ...key, key: key.key.repeat(500) }, "hash"))
    })
  )

  it.effect("starts anew after the first request was abandoned", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      yield* keys.abandon(key, claimed(yield* keys.claim(key, "hash")))
      claimed(yield* keys.claim(key, "other hash"))
    })
  )

  it.effect("passes the claim of a dead process on, to one of many, and lets the dead one do no harm", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const dead = claimed(yield* keys.claim(key, "hash"))
      yield* TestClock.adjust(claimLease)
      const next = yield* Effect.replicateEffect(keys.claim(key, "hash"), 10, { concurrency: "unbounded" })
      const [heir] = next.filter(Claim.$is("Claimed"))
      assert.strictEqual(next.filter(Claim.$is("InProgress")).length, 9)
      if (heir === undefined) return assert.fail("nobody has the claim")
      assert.isFalse(yield* keys.renew(key, dead))
      assert.isFalse(yield* keys.complete(key, dead, { ...response, status: 500 }))
      yield* keys.abandon(key, dead)
      assert.isTrue(yield* keys.complete(key, heir.id, response))
      assert.deepStrictEqual(yield* keys.claim(key, "hash"), Claim.Replay({ response }))
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("leaves the claim with a process that renews it", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const id = claimed(yield* keys.claim(key, "hash"))
      yield* TestClock.adjust("40 seconds")
      assert.isTrue(yield* keys.renew(key, id))
      yield* TestClock.adjust("40 seconds")
      assert.deepStrictEqual(yield* keys.claim(key, "hash"), Claim.InProgress())
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("forgets an answer after its time, whether or not it was pruned", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const [key, other] = yield* Effect.all([newKey, newKey])
      for (const one of [key, other]) yield* keys.complete(one, claimed(yield* keys.claim(one, "hash")), response)
      yield* TestClock.adjust(keyLifetime)
      claimed(yield* keys.claim(key, "other hash"))
      assert.isAtLeast(yield* keys.prune, 1)
      assert.deepStrictEqual(yield* keys.claim(key, "other hash"), Claim.InProgress())
      claimed(yield* keys.claim(other, "hash"))
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("keeps answers sealed", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const sql = yield* SqlClient
      const key = yield* newKey
      yield* keys.complete(key, claimed(yield* keys.claim(key, "hash")), response)
      const rows = JSON.stringify(yield* sql`select * from idempotency_keys`)
      assert.notInclude(rows, "s3cr3t-value")
      assert.notInclude(rows, key.key)
    })
  )
})
