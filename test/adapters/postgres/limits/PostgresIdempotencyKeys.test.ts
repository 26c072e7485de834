import {
  countedResponseBytes,
  IdempotencyClaim,
  type IdempotencyKey,
  IdempotencyKeys,
  idempotencyKeyLifetime,
  maximumStoredBytes
} from "@berth/domain/limits/IdempotencyKeys"
import { leaseDuration } from "@berth/domain/limits/Lease"
import { IdempotencyClaimLost, IdempotentExecution, RequestClaim } from "@berth/domain/limits/IdempotentExecution"
import { Transaction } from "@berth/domain/persistence/Transaction"
import * as PostgresIdempotencyKeys from "@berth/infra/postgres/limits/PostgresIdempotencyKeys"
import { digestPrincipal } from "@berth/infra/postgres/limits/PostgresIdempotencyKeys"
import * as PostgresIdempotentExecution from "@berth/infra/postgres/limits/PostgresIdempotentExecution"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Option, Schema } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { uniqueName } from "../../../support/Samples.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.mergeAll(
  PostgresIdempotencyKeys.layer,
  PostgresIdempotentExecution.layer,
  PostgresTransaction.layer
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

/** Advances time: leases use the database's clock, which tests cannot set. */
const pass = (time: Duration.DurationInput) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const by = sql`make_interval(secs => ${Duration.toSeconds(time)})`
    yield* sql`update idempotency_keys set lease_until = lease_until - ${by}, expires_at = expires_at - ${by}`
  })

const newKey = Effect.map(uniqueName("key"), (key) => ({ principal: "usr_1", route: "POST /api/provision", key }))
const response = { status: 201, headers: { "content-type": "application/json" }, body: '{"secret":"s3cr3t-value"}' }

const claimed = (claim: IdempotencyClaim) => (claim._tag === "Claimed" ? claim.id : assert.fail(`was ${claim._tag}`))

layer(Live, { excludeTestServices: true })("IdempotencyKeys", (it) => {
  it.effect("IdempotencyKeys gives the claim to one of concurrent callers, and its answer to the others", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const claims = yield* Effect.replicateEffect(keys.claim(key, "hash"), 30, { concurrency: "unbounded" })
      const [first] = claims.filter(IdempotencyClaim.$is("Claimed"))
      assert.strictEqual(claims.filter(IdempotencyClaim.$is("InProgress")).length, 29)
      if (first === undefined) return assert.fail("nobody has the claim")
      assert.isTrue(yield* keys.complete(key, first.id, response))
      assert.deepStrictEqual(yield* keys.claim(key, "hash"), IdempotencyClaim.Replay({ response }))
      assert.isFalse(yield* keys.complete(key, first.id, { ...response, status: 500 }))
      yield* keys.release(key, first.id)
      assert.deepStrictEqual(yield* keys.claim(key, "hash"), IdempotencyClaim.Replay({ response }))
    })
  )

  it.effect("IdempotencyKeys rejects another request under the same key, before and after the answer", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const id = claimed(yield* keys.claim(key, "hash"))
      assert.deepStrictEqual(yield* keys.claim(key, "other hash"), IdempotencyClaim.KeyReused())
      yield* keys.complete(key, id, response)
      assert.deepStrictEqual(yield* keys.claim(key, "other hash"), IdempotencyClaim.KeyReused())
    })
  )

  it.effect("IdempotencyKeys keeps the keys of principals and routes apart", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      claimed(yield* keys.claim(key, "hash"))
      claimed(yield* keys.claim({ ...key, principal: "usr_2" }, "hash"))
      claimed(yield* keys.claim({ ...key, route: "POST /api/v1/gateway" }, "hash"))
      claimed(yield* keys.claim({ ...key, key: key.key.repeat(500) }, "hash"))
    })
  )

  it.effect("claimWithin waits for the response of the request that holds the key", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const id = claimed(yield* keys.claim(key, "hash"))
      const waiting = yield* Effect.fork(keys.claimWithin(key, "hash", "1 minute"))
      assert.isTrue(yield* keys.complete(key, id, response))
      assert.deepStrictEqual(yield* Fiber.join(waiting), IdempotencyClaim.Replay({ response }))
    })
  )

  it.effect("claimWithin claims a key that was released, and ends in progress after its limit", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const id = claimed(yield* keys.claim(key, "hash"))
      assert.deepStrictEqual(yield* keys.claimWithin(key, "hash", "10 millis"), IdempotencyClaim.InProgress())
      const waiting = yield* Effect.fork(keys.claimWithin(key, "hash", "1 minute"))
      yield* keys.release(key, id)
      claimed(yield* Fiber.join(waiting))
    })
  )

  it.effect("IdempotencyKeys starts again after the first request is abandoned", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      yield* keys.release(key, claimed(yield* keys.claim(key, "hash")))
      claimed(yield* keys.claim(key, "other hash"))
    })
  )

  it.effect("IdempotencyKeys passes the claim of a dead process to one of many, and ignores the dead one", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const dead = claimed(yield* keys.claim(key, "hash"))
      yield* pass(leaseDuration)
      const next = yield* Effect.replicateEffect(keys.claim(key, "hash"), 10, { concurrency: "unbounded" })
      const [heir] = next.filter(IdempotencyClaim.$is("Claimed"))
      assert.strictEqual(next.filter(IdempotencyClaim.$is("InProgress")).length, 9)
      if (heir === undefined) return assert.fail("nobody has the claim")
      assert.isFalse(yield* keys.renew(key, dead))
      assert.isFalse(yield* keys.complete(key, dead, { ...response, status: 500 }))
      yield* keys.release(key, dead)
      assert.isTrue(yield* keys.complete(key, heir.id, response))
      assert.deepStrictEqual(yield* keys.claim(key, "hash"), IdempotencyClaim.Replay({ response }))
    })
  )

  it.effect("IdempotencyKeys leaves the claim with a process that renews it", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const id = claimed(yield* keys.claim(key, "hash"))
      yield* pass("10 seconds")
      assert.isTrue(yield* keys.renew(key, id))
      yield* pass("10 seconds")
      assert.deepStrictEqual(yield* keys.claim(key, "hash"), IdempotencyClaim.InProgress())
    })
  )

  it.effect("IdempotencyKeys.hasRoom counts the large responses of a principal until their retention ends", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const sql = yield* SqlClient
      const key = { ...(yield* newKey), principal: yield* uniqueName("usr") }
      yield* keys.complete(key, claimed(yield* keys.claim(key, "hash")), response)
      const rooms = Effect.all([
        keys.hasRoom(key, countedResponseBytes),
        keys.hasRoom(key, countedResponseBytes + 1),
        keys.hasRoom(key, countedResponseBytes + 2),
        keys.hasRoom({ ...key, principal: "usr_other" }, maximumStoredBytes)
      ])
      assert.deepStrictEqual(yield* rooms, [true, true, true, true])
      yield* sql`
        update idempotency_keys set response_sealed = repeat('x', ${maximumStoredBytes - countedResponseBytes - 1})
        where principal_hash = ${digestPrincipal(key.principal)}`
      assert.deepStrictEqual(yield* rooms, [true, true, false, true])
      yield* pass(idempotencyKeyLifetime)
      assert.deepStrictEqual(yield* rooms, [true, true, true, true])
    })
  )

  it.effect("IdempotencyKeys returns no answer after its retention, pruned or not", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const [key, other] = yield* Effect.all([newKey, newKey])
      for (const one of [key, other]) yield* keys.complete(one, claimed(yield* keys.claim(one, "hash")), response)
      yield* pass(idempotencyKeyLifetime)
      claimed(yield* keys.claim(key, "other hash"))
      assert.isAtLeast(yield* keys.prune, 1)
      assert.deepStrictEqual(yield* keys.claim(key, "other hash"), IdempotencyClaim.InProgress())
      claimed(yield* keys.claim(other, "hash"))
    })
  )

  it.effect("IdempotencyKeys stores answers sealed", () =>
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

layer(Live, { excludeTestServices: true })("IdempotentExecution", (it) => {
  const Outcome = Schema.Struct({ id: Schema.String, at: Schema.DateFromString })

  /** The effect of a request: inserts a row and returns it after `meanwhile`. */
  const effect = (key: IdempotencyKey, meanwhile: Effect.Effect<void> = Effect.void) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const id = yield* uniqueName("made")
      yield* sql`insert into made ${sql.insert({ id, key: key.key })}`
      yield* meanwhile
      return { id, at: new Date(1_700_000_000_000) }
    })

  /** Executes a request with a claim. */
  const carryOut = (key: IdempotencyKey, claim: IdempotencyClaim, meanwhile?: Effect.Effect<void>) =>
    Effect.gen(function* () {
      const transaction = yield* Transaction
      const execution = yield* IdempotentExecution
      return yield* transaction.run(execution.run(Outcome, effect(key, meanwhile)))
    }).pipe(Effect.provideService(RequestClaim, Option.some({ key, id: claimed(claim) })))

  const made = (key: IdempotencyKey) =>
    Effect.flatMap(SqlClient, (sql) =>
      Effect.map(sql`select id from made where key = ${key.key}`, (rows) => rows.length)
    )

  const withTable = Effect.flatMap(SqlClient, (sql) => sql`create table if not exists made (id text, key text)`)

  it.effect("IdempotentExecution repeats no effect after the process died before its answer", () =>
    Effect.gen(function* () {
      yield* withTable
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const first = yield* carryOut(key, yield* keys.claim(key, "hash"))
      for (let death = 0; death < 3; death++) {
        yield* pass(leaseDuration)
        assert.deepStrictEqual(yield* carryOut(key, yield* keys.claim(key, "hash")), first)
      }
      assert.strictEqual(yield* made(key), 1)
    })
  )

  it.effect("IdempotentExecution repeats no effect after a broken answer, and admits the next request at once", () =>
    Effect.gen(function* () {
      yield* withTable
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const claim = yield* keys.claim(key, "hash")
      const first = yield* carryOut(key, claim)
      yield* keys.release(key, claimed(claim))
      assert.deepStrictEqual(yield* keys.claim(key, "other hash"), IdempotencyClaim.KeyReused())
      assert.deepStrictEqual(yield* carryOut(key, yield* keys.claim(key, "hash")), first)
      assert.strictEqual(yield* made(key), 1)
    })
  )

  it.effect("IdempotentExecution does nothing for a process whose lease has expired", () =>
    Effect.gen(function* () {
      yield* withTable
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const sleeper = yield* keys.claim(key, "hash")
      yield* pass(leaseDuration)
      const heir = yield* keys.claim(key, "hash")
      const defect = yield* Effect.flip(Effect.sandbox(carryOut(key, sleeper)))
      assert.isTrue(defect._tag === "Die" && defect.defect instanceof IdempotencyClaimLost)
      assert.strictEqual(yield* made(key), 0)
      yield* carryOut(key, heir)
      assert.strictEqual(yield* made(key), 1)
    })
  )

  it.effect("IdempotentExecution admits no other process while it writes", () =>
    Effect.gen(function* () {
      yield* withTable
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const [written, goOn] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
      const claim = yield* keys.claim(key, "hash")
      yield* pass(leaseDuration)
      const meanwhile = Effect.zipRight(Deferred.succeed(written, undefined), Deferred.await(goOn))
      const first = yield* Effect.forkDaemon(carryOut(key, claim, meanwhile))
      yield* Deferred.await(written)
      const next = yield* Effect.forkDaemon(Effect.flatMap(keys.claim(key, "hash"), (heir) => carryOut(key, heir)))
      yield* Effect.sleep("200 millis")
      assert.isNull(next.unsafePoll())
      yield* Deferred.succeed(goOn, undefined)
      assert.deepStrictEqual(yield* Fiber.join(next), yield* Fiber.join(first))
      assert.strictEqual(yield* made(key), 1)
    })
  )

  it.effect("IdempotentExecution stores nothing after a rollback or past the key's lifetime", () =>
    Effect.gen(function* () {
      yield* withTable
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const claim = yield* keys.claim(key, "hash")
      yield* Effect.sandbox(carryOut(key, claim, Effect.die("broken"))).pipe(Effect.flip)
      const first = yield* carryOut(key, claim)
      yield* pass(idempotencyKeyLifetime)
      assert.notDeepEqual(yield* carryOut(key, yield* keys.claim(key, "another day's hash")), first)
      assert.strictEqual(yield* made(key), 2)
    })
  )

  it.effect("IdempotentExecution gives repeated requests the same id until the key expires", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyKeys
      const { reference } = yield* IdempotentExecution
      const key = yield* newKey
      const referenceOf = (claim: IdempotencyClaim) =>
        Effect.provideService(reference, RequestClaim, Option.some({ key, id: claimed(claim) }))
      const first = yield* referenceOf(yield* keys.claim(key, "hash"))
      yield* pass(leaseDuration)
      assert.strictEqual(yield* referenceOf(yield* keys.claim(key, "hash")), first)
      yield* pass(idempotencyKeyLifetime)
      assert.notStrictEqual(yield* referenceOf(yield* keys.claim(key, "hash")), first)
      assert.notStrictEqual(yield* reference, yield* reference)
    })
  )

  it.effect("IdempotentExecution stores outcomes sealed", () =>
    Effect.gen(function* () {
      yield* withTable
      const sql = yield* SqlClient
      const keys = yield* IdempotencyKeys
      const key = yield* newKey
      const { id } = yield* carryOut(key, yield* keys.claim(key, "hash"))
      assert.notInclude(JSON.stringify(yield* sql`select * from idempotency_keys`), id)
    })
  )
})
