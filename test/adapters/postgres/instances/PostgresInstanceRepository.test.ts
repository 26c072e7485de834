import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { OutageDetector } from "@berth/domain/shared/DependencyUnavailable"
import * as PostgresInstanceRepository from "@berth/infra/postgres/instances/PostgresInstanceRepository"
import * as PostgresOutageDetector from "@berth/infra/postgres/PostgresOutageDetector"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import {
  Cause,
  Context,
  DateTime,
  Deferred,
  Effect,
  Exit,
  Fiber,
  Layer,
  Option,
  Redacted,
  TestClock,
  TestContext
} from "effect"
import type { UserId } from "@berth/domain/shared/UserId"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { compileProgram, readFirstLine, killProcess, startProgram } from "../../../support/processes/ChildProcess.ts"
import { eventually } from "../../../support/Eventually.ts"

const Live = Layer.mergeAll(
  PostgresInstanceRepository.layer,
  PostgresUserRepository.layer,
  PostgresOutageDetector.layer
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

const databaseUrl = Effect.map(PgClient, ({ config }) => config.url ?? assert.fail("no URL"))

/** A second process with its own pool and locks. */
const elsewhere = Effect.gen(function* () {
  const url = yield* databaseUrl
  const context = yield* Layer.build(
    Layer.fresh(PostgresInstanceRepository.layer).pipe(
      Layer.provide(Layer.fresh(PostgresPool.layer({ url, maxConnections: 2, applicationName: "elsewhere" }))),
      Layer.provide(TestSecrets.layer)
    )
  )
  return Context.get(context, InstanceRepository)
})

layer(Live, { excludeTestServices: true })("InstanceRepository", (it) => {
  it.effect("InstanceRepository.ensure creates one instance over concurrent calls, and keeps its subdomain", () =>
    Effect.gen(function* () {
      const instances = yield* InstanceRepository
      const user = yield* insertUser()
      assert.deepStrictEqual(yield* instances.find(user.id), Option.none())
      const made = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => `${user.referralCode}-${n}`),
        (subdomain) => instances.ensure(user.id, subdomain),
        { concurrency: "unbounded" }
      )
      const [first] = made
      assert.isTrue(made.every((instance) => instance.subdomain === first?.subdomain))
      assert.deepInclude(first, { desired: "down", status: "provisioning", startedAt: null, runtimeVersion: null })
      assert.deepStrictEqual(yield* instances.find(user.id), Option.fromNullable(first))
    })
  )

  it.effect("recordUse and desired up keep an instance from being listed as unused and from being marked asleep", () =>
    Effect.gen(function* () {
      const instances = yield* InstanceRepository
      const [used, unused, stopped] = yield* Effect.all([insertUser(), insertUser(), insertUser()])
      for (const { id, referralCode } of [used, unused, stopped]) yield* instances.ensure(id, referralCode)
      for (const { id } of [used, unused]) yield* instances.update(id, { desired: "up", status: "running" })
      yield* instances.update(stopped.id, { desired: "down", status: "stopped" })
      const started = yield* DateTime.now
      const isListed = (userId: UserId, since: DateTime.Utc) =>
        Effect.map(instances.listUnused(since), (all) => all.includes(userId))
      assert.isFalse(yield* isListed(unused.id, started))
      assert.isFalse(yield* instances.markAsleep(unused.id, started))

      yield* TestClock.adjust("1 hour")
      const ids = [used.id, stopped.id]
      assert.deepStrictEqual([...(yield* instances.recordUse(ids))], [used.id])
      assert.deepStrictEqual([...(yield* instances.recordUse([]))], [])
      const since = DateTime.add(started, { minutes: 30 })
      assert.isTrue(yield* isListed(unused.id, since))
      for (const id of ids) {
        assert.isFalse(yield* isListed(id, since))
        assert.isFalse(yield* instances.markAsleep(id, since))
      }
      assert.isTrue(yield* instances.markAsleep(unused.id, since))
      assert.isFalse(yield* instances.markAsleep(unused.id, since))
      assert.isFalse(yield* isListed(unused.id, since))
      assert.deepInclude(Option.getOrThrow(yield* instances.find(unused.id)), { desired: "asleep", status: "running" })
      assert.deepStrictEqual([...(yield* instances.recordUse([unused.id]))], [])
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("listGatewayTokenVersions returns a value that changes with the token and does not contain it", () =>
    Effect.gen(function* () {
      const instances = yield* InstanceRepository
      const [user, other, none] = yield* Effect.all([insertUser(), insertUser(), insertUser()])
      for (const { id, referralCode } of [user, other, none]) yield* instances.ensure(id, referralCode)
      const token = yield* instances.ensureGatewayToken(user.id)
      yield* instances.ensureGatewayToken(other.id)
      const marks = instances.listGatewayTokenVersions([user.id, other.id, none.id])
      const before = yield* marks
      assert.sameMembers([...before.keys()], [user.id, other.id])
      assert.notStrictEqual(before.get(user.id), before.get(other.id))
      assert.notInclude([...before.values()], Redacted.value(token))
      assert.deepStrictEqual(yield* marks, before)
      yield* sql`update instances set gateway_token_sealed = null where owner_id = ${user.id}`
      yield* instances.ensureGatewayToken(user.id)
      const after = yield* marks
      assert.notStrictEqual(after.get(user.id), before.get(user.id))
      assert.strictEqual(after.get(other.id), before.get(other.id))
      assert.deepStrictEqual(yield* instances.listGatewayTokenVersions([]), new Map())
    })
  )

  it.effect("InstanceRepository.update changes the named members; listDesired filters by desired state", () =>
    Effect.gen(function* () {
      const instances = yield* InstanceRepository
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      const made = yield* instances.ensure(user.id, user.referralCode)
      yield* instances.ensure(other.id, other.referralCode)
      const startedAt = DateTime.unsafeMake("2026-03-01T12:00:00.123Z")
      yield* instances.update(user.id, { desired: "up", status: "running", startedAt, runtimeVersion: "1.0.0" })
      yield* instances.update(user.id, {})
      const changed = Option.getOrThrow(yield* instances.find(user.id))
      assert.deepInclude(changed, { ...made, desired: "up", status: "running", startedAt, runtimeVersion: "1.0.0" })
      const listed = (desired: "up" | "down") =>
        Effect.map(instances.listDesired(desired), (all) => all.map(({ userId }) => userId))
      assert.include(yield* listed("up"), user.id)
      assert.notInclude(yield* listed("up"), other.id)
      assert.include(yield* listed("down"), other.id)
      assert.notInclude(yield* listed("down"), user.id)
      yield* instances.update(user.id, { desired: "down", startedAt: null })
      assert.deepInclude(Option.getOrThrow(yield* instances.find(user.id)), { startedAt: null, status: "running" })
      assert.notInclude(yield* listed("up"), user.id)
      assert.include(yield* listed("down"), user.id)
    })
  )

  it.effect("InstanceRepository creates each token once, seals both, and finds the owner by the runtime token", () =>
    Effect.gen(function* () {
      const instances = yield* InstanceRepository
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      yield* Effect.all([instances.ensure(user.id, user.referralCode), instances.ensure(other.id, other.referralCode)])
      const askTwenty = (ask: Effect.Effect<Redacted.Redacted>) =>
        Effect.map(
          Effect.replicateEffect(ask, 20, { concurrency: "unbounded" }),
          (tokens) => new Set(tokens.map(Redacted.value))
        )
      const runtime = yield* askTwenty(instances.ensureRuntimeToken(user.id))
      const gateway = yield* askTwenty(instances.ensureGatewayToken(user.id))
      assert.deepStrictEqual([runtime.size, gateway.size], [1, 1])
      assert.notDeepEqual(runtime, gateway)
      const [token] = [...runtime].map((text) => Redacted.make(text))
      if (token === undefined) return assert.fail("no token")
      assert.deepStrictEqual(yield* instances.findByRuntimeToken(token), Option.some(user.id))
      assert.deepStrictEqual(yield* instances.findByRuntimeToken(Redacted.make("another")), Option.none())
      const othersToken = yield* instances.ensureRuntimeToken(other.id)
      assert.deepStrictEqual(yield* instances.findByRuntimeToken(othersToken), Option.some(other.id))
      const rows = JSON.stringify(yield* sql`select * from instances`)
      for (const secret of [...runtime, ...gateway]) assert.notInclude(rows, secret)
    })
  )

  it.scoped("InstanceRepository.serialized runs one caller per owner across processes", () =>
    Effect.gen(function* () {
      const instances = yield* InstanceRepository
      const others = yield* elsewhere
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      let inside = 0
      let most = 0
      let runs = 0
      const act = Effect.acquireUseRelease(
        Effect.sync(() => {
          inside += 1
          runs += 1
          most = Math.max(most, inside)
        }),
        () => Effect.sleep("5 millis"),
        () => Effect.sync(() => (inside -= 1))
      )
      yield* Effect.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? instances : others).serialized(user.id, act)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual({ runs, most }, { runs: 20, most: 1 })

      const holding = yield* Deferred.make<void>()
      const holder = yield* Effect.fork(
        others.serialized(user.id, Effect.zipRight(Deferred.succeed(holding, undefined), Effect.never))
      )
      yield* Deferred.await(holding)
      assert.strictEqual(yield* instances.serialized(other.id, Effect.succeed("free")), "free")
      const waiting = yield* Effect.fork(instances.serialized(user.id, Effect.succeed("mine")))
      assert.deepStrictEqual(yield* Fiber.poll(waiting), Option.none())
      yield* Fiber.interrupt(holder)
      assert.strictEqual(yield* Fiber.join(waiting), "mine")
    })
  )

  it.effect("InstanceRepository.serialized uses no connection of the pool: thirty locks beside a pool of ten", () =>
    Effect.gen(function* () {
      const instances = yield* InstanceRepository
      const gate = yield* Effect.makeLatch(false)
      let holding = 0
      const owners = yield* Effect.replicateEffect(insertUser(), 30)
      const held = yield* Effect.fork(
        Effect.forEach(
          owners,
          ({ id }) =>
            instances.serialized(
              id,
              Effect.zipRight(
                Effect.sync(() => (holding += 1)),
                gate.await
              )
            ),
          { concurrency: "unbounded" }
        )
      )
      yield* eventually(
        Effect.sync(() => holding),
        (n) => n === 30
      )
      yield* insertUser()
      yield* gate.open
      yield* Fiber.join(held)
    })
  )

  it.effect("InstanceRepository.serialized releases the lock after failures and interruptions", () =>
    Effect.gen(function* () {
      const instances = yield* InstanceRepository
      const user = yield* insertUser()
      assert.strictEqual(yield* Effect.flip(instances.serialized(user.id, Effect.fail("no"))), "no")
      const gate = yield* Effect.makeLatch(false)
      const holder = yield* Effect.fork(instances.serialized(user.id, gate.await))
      const waiter = yield* Effect.fork(instances.serialized(user.id, Effect.die("must not run")))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(waiter)
      yield* gate.open
      yield* Fiber.join(holder)
      assert.strictEqual(yield* instances.serialized(user.id, Effect.succeed("again")), "again")
    })
  )

  it.scoped("InstanceRepository.serialized interrupts a holder whose session ended, as an outage of the database", () =>
    Effect.gen(function* () {
      const instances = yield* elsewhere
      const user = yield* insertUser()
      const holding = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const holder = yield* Effect.fork(
        instances.serialized(
          user.id,
          Deferred.succeed(holding, undefined).pipe(
            Effect.zipRight(Effect.never),
            Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
          )
        )
      )
      yield* Deferred.await(holding)
      yield* sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'elsewhere locks'`
      yield* Deferred.await(stopped)
      const exit = yield* Fiber.await(holder)
      const { detect } = yield* OutageDetector
      const defect = Exit.isFailure(exit) ? Cause.dieOption(exit.cause) : Option.none()
      assert.isTrue(Option.isSome(Option.flatMap(defect, detect)), String(exit))
      assert.strictEqual(
        yield* instances.serialized(user.id, Effect.succeed("with a new session")),
        "with a new session"
      )
    })
  )

  it.scoped("InstanceRepository.serialized frees the lock of a killed process at once", () =>
    Effect.gen(function* () {
      const instances = yield* InstanceRepository
      const user = yield* insertUser()
      const program = yield* compileProgram("InstanceLockHolder.ts")
      const holder = yield* startProgram(program, {
        DATABASE_URL: Redacted.value(yield* databaseUrl),
        OWNER: user.id
      })
      assert.strictEqual(yield* readFirstLine(holder), "holding")
      const waiting = yield* Effect.fork(instances.serialized(user.id, Effect.succeed("free")))
      yield* Effect.sleep("300 millis")
      assert.deepStrictEqual(yield* Fiber.poll(waiting), Option.none())
      yield* killProcess(holder)
      assert.strictEqual(yield* Effect.timeout(Fiber.join(waiting), "30 seconds"), "free")
    })
  )
})
