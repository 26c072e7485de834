import { JobPermanentlyFailed, JobQueue, type NewJob } from "@berth/domain/jobs/JobQueue"
import * as PostgresJobQueue from "@berth/infra/queue/PostgresJobQueue"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Logger, Redacted } from "effect"
import { Client } from "pg"
import { eventually } from "../../../../test/support/Eventually.ts"
import { freshDatabase } from "../../../../test/support/Databases.ts"

const job = (id: string): NewJob => ({ id, queue: "tasks", name: "test", payload: {}, trace: null })

/** From another database, so that its connection is not counted. */
const administer = (url: Redacted.Redacted, statement: string, parameters: ReadonlyArray<string> = []) =>
  Effect.promise(async () => {
    const elsewhere = new URL(Redacted.value(url))
    elsewhere.pathname = "/postgres"
    const client = new Client({ connectionString: elsewhere.href })
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(statement, [...parameters])).rows
    } finally {
      await client.end()
    }
  })

const nameOf = (url: Redacted.Redacted) => new URL(Redacted.value(url)).pathname.slice(1)

const connections = (url: Redacted.Redacted) =>
  Effect.map(
    administer(url, "select count(*)::int as open from pg_stat_activity where datname = $1", [nameOf(url)]),
    ([row]) => Number(row?.["open"])
  )

describe("PostgresJobQueue", () => {
  it.scopedLive("PostgresJobQueue removes completed jobs after their retention, and no others", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.gen(function* () {
        const queue = yield* JobQueue
        yield* Effect.forEach(["done", "dead"], (id) => queue.add(job(id)))
        yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, ({ id }) =>
          id === "dead" ? new JobPermanentlyFailed({ reason: "no" }) : Effect.void
        )
        const counts = yield* eventually(
          queue.counts("tasks"),
          ({ active, completed, failed, waiting }) => failed === 1 && active + completed + waiting === 0
        )
        assert.strictEqual(counts.failed, 1)
      }).pipe(
        Effect.provide(
          PostgresJobQueue.layer({ url, schema: "queues", keepCompleted: { age: 0 }, cleanupInterval: "50 millis" })
        )
      )
    })
  )

  it.scopedLive("PostgresJobQueue reports a clock that differs from the database's", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const ahead: Array<unknown> = []
      const logger = Logger.make(({ annotations, message }) => {
        if (String(message).startsWith("Clock differs"))
          for (const [name, value] of annotations) if (name === "aheadSeconds") ahead.push(value)
      })
      const clock = Clock.make()
      const skewed: Clock.Clock = {
        [Clock.ClockTypeId]: Clock.ClockTypeId,
        currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + 60_000),
        currentTimeNanos: clock.currentTimeNanos,
        unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis(),
        unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
        sleep: (duration) => clock.sleep(duration)
      }
      yield* Layer.build(PostgresJobQueue.layer({ url, schema: "queues" })).pipe(
        Effect.withClock(skewed),
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )
      const [seconds] = yield* eventually(
        Effect.sync(() => ahead),
        (current) => current.length === 1
      )
      assert.approximately(Number(seconds), 60, 1)
    })
  )

  it.scopedLive("PostgresJobQueue can be started by several processes at once on an empty database", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const opened = yield* Effect.all(
        Array.from({ length: 4 }, () => Layer.build(Layer.fresh(PostgresJobQueue.layer({ url, schema: "queues" })))),
        { concurrency: "unbounded" }
      )
      yield* Effect.forEach(opened, (context, n) =>
        Effect.provide(
          Effect.flatMap(JobQueue, ({ add }) => add(job(`job ${n}`))),
          context
        )
      )
      const [first] = opened
      const counts = yield* first === undefined
        ? Effect.dieMessage("nothing opened")
        : Effect.provide(
            Effect.flatMap(JobQueue, (queue) => queue.counts("tasks")),
            first
          )
      assert.strictEqual(counts.waiting, 4)
    })
  )

  it.scopedLive("PostgresJobQueue uses two connections to add jobs, and three for each consumed queue", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.gen(function* () {
        const queue = yield* JobQueue
        const add = Effect.forEach(
          Array.from({ length: 100 }, (_, n) => job(`job ${n}`)),
          (one) => Effect.all([queue.add(one), queue.add({ ...one, queue: "provision" })], { concurrency: 2 }),
          { concurrency: 50, discard: true }
        )
        yield* add
        assert.strictEqual(yield* connections(url), 2)
        for (const name of ["tasks", "provision"] as const)
          yield* queue.consume(name, { concurrency: 5, drain: "5 seconds" }, () => Effect.void)
        let most = 0
        for (const name of ["tasks", "provision"] as const)
          yield* eventually(
            Effect.zip(queue.counts(name), connections(url)).pipe(
              Effect.tap(([, open]) => Effect.sync(() => (most = Math.max(most, open))))
            ),
            ([{ completed }]) => completed === 100
          )
        assert.isAtLeast(most, 4)
        assert.isAtMost(most, 8)
      }).pipe(Effect.scoped, Effect.provide(PostgresJobQueue.layer({ url, schema: "queues" })))
      assert.strictEqual(yield* eventually(connections(url), (open) => open === 0), 0)
    })
  )

  it.scopedLive("PostgresJobQueue closes without failure while the database disconnects", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const name = nameOf(url)
      const admin = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const elsewhere = new URL(Redacted.value(url))
          elsewhere.pathname = "/postgres"
          const client = new Client({ connectionString: elsewhere.href })
          await client.connect()
          return client
        }),
        (client) => Effect.promise(() => client.end())
      )
      const hangUp = yield* Effect.gen(function* () {
        const queue = yield* JobQueue
        yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, () => Effect.void)
        const done = admin.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [name])
        // The server's messages are read after closing has begun.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
        return done
      }).pipe(Effect.scoped, Effect.provide(PostgresJobQueue.layer({ url, schema: "queues" })))
      assert.isAtLeast((yield* Effect.promise(() => hangUp)).rowCount ?? 0, 1)
    })
  )
})
