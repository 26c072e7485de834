import { JobPostponed, JobQueue, type NewJob } from "@berth/domain/jobs/JobQueue"
import type { BullmqSettings } from "@berth/infra/queue/BullmqStore"
import * as PostgresJobQueue from "@berth/infra/queue/PostgresJobQueue"
import * as RedisJobQueue from "@berth/infra/queue/RedisJobQueue"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Either, Logger, Redacted, Ref } from "effect"
import { Redis } from "ioredis"
import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { Client } from "pg"
import { inject } from "vitest"
import { freshDatabase } from "../support/Databases.ts"
import { eventually } from "../support/Eventually.ts"
import {
  collectLines,
  compileProgram,
  killProcess,
  readFirstLine,
  runClockAhead,
  startProgram
} from "../support/processes/ChildProcess.ts"
import { startRedis } from "../support/RedisServer.ts"
import { describeWithTool, redisServer } from "../support/RequiredTools.ts"
import { makeTcpProxy } from "../support/TcpProxy.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"

const job = (id: string): NewJob => ({ id, queue: "tasks", name: "test", payload: {}, trace: null })

const runStatement = (url: Redacted.Redacted, statement: string) =>
  Effect.acquireUseRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: Redacted.value(url) })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.query(statement)),
    (client) => Effect.promise(() => client.end())
  )

const newRedis = Effect.map(Effect.flatMap(temporaryDirectory, startRedis), Redacted.make)

const command = (url: Redacted.Redacted, name: string, ...args: ReadonlyArray<string>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => new Redis(Redacted.value(url))),
    (redis) => Effect.promise(() => redis.call(name, ...args)),
    (redis) => Effect.sync(() => redis.disconnect())
  )

describeWithTool(redisServer, "JobQueue on a failing Redis", () => {
  it.scopedLive("JobQueue on a Redis without memory rejects jobs, reports that, and runs those it has afterwards", () =>
    Effect.gen(function* () {
      const url = yield* newRedis
      const logged: Array<string> = []
      const logger = Logger.make(({ annotations, message }) => {
        for (const [name, value] of annotations)
          if (name === "reason") logged.push(`${String(message)}: ${String(value)}`)
      })
      yield* Effect.gen(function* () {
        const queue = yield* JobQueue
        const gate = yield* Effect.makeLatch(false)
        const ran = yield* Ref.make<ReadonlyArray<string>>([])
        yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, ({ id }) =>
          Effect.zipRight(
            Ref.update(ran, (current) => [...current, id]),
            gate.await
          )
        )
        yield* Effect.forEach(["running", "waiting"], (id) => queue.add(job(id)))
        yield* queue.check
        yield* eventually(ran, (current) => current.length === 1)
        yield* command(url, "config", "set", "maxmemory", "1mb")
        const rejected = yield* Effect.flip(queue.add(job("rejected")))
        assert.deepInclude(rejected, { _tag: "QueueUnavailable", operation: "add" })
        assert.include(rejected.message, "OOM command not allowed when used memory > 'maxmemory'")
        assert.strictEqual((yield* Effect.flip(queue.check)).operation, "check")
        yield* gate.open
        yield* eventually(
          Effect.sync(() => logged),
          (lines) => lines.some((line) => line.startsWith("Queue store failed for the worker: OOM command not allowed"))
        )
        yield* command(url, "config", "set", "maxmemory", "0")
        yield* queue.check
        yield* eventually(queue.counts("tasks"), ({ completed }) => completed === 2)
        assert.sameMembers([...new Set(yield* ran)], ["running", "waiting"])
        assert.deepInclude(yield* queue.counts("tasks"), { active: 0, waiting: 0, failed: 0 })
      }).pipe(
        Effect.provide(
          RedisJobQueue.layer({ url, prefix: "test", lockDuration: "1 second", stalledInterval: "200 millis" })
        ),
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )
    })
  )

  it.scopedLive("JobQueue follows a failover of Redis to the promoted replica, with the jobs and their ids", () =>
    Effect.gen(function* () {
      const first = yield* newRedis
      const second = yield* newRedis
      const { hostname, port } = new URL(Redacted.value(first))
      yield* command(first, "config", "set", "repl-diskless-sync-delay", "0")
      yield* command(second, "replicaof", hostname, port)
      const proxy = yield* makeTcpProxy(first)
      yield* Effect.gen(function* () {
        const queue = yield* JobQueue
        const ran = yield* Ref.make<ReadonlyArray<string>>([])
        yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, ({ id }) =>
          Ref.update(ran, (current) => [...current, id])
        )
        yield* queue.add(job("before"))
        yield* eventually(queue.counts("tasks"), ({ completed }) => completed === 1)
        yield* eventually(command(second, "dbsize"), (size) => Number(size) > 0)
        yield* eventually(
          Effect.all([command(first, "info", "replication"), command(second, "info", "replication")]),
          (both) => {
            const [one, other] = both.map((text) => /master_repl_offset:(\d+)/.exec(String(text))?.[1])
            return one !== undefined && one === other
          }
        )
        yield* proxy.moveTo(second)
        yield* command(second, "replicaof", "no", "one")
        const promoted = new URL(Redacted.value(second))
        yield* command(first, "replicaof", promoted.hostname, promoted.port)
        yield* eventually(Effect.either(queue.add(job("after"))), Either.isRight)
        yield* queue.add(job("before"))
        yield* eventually(queue.counts("tasks"), ({ completed }) => completed === 2)
        assert.deepStrictEqual(yield* ran, ["before", "after"])
      }).pipe(Effect.provide(RedisJobQueue.layer({ url: proxy.url, prefix: "test" })))
    })
  )
})

interface JobQueueStore {
  readonly store: "PostgreSQL" | "Redis"
  readonly url: Redacted.Redacted
  readonly namespace: string
}

const open = ({ namespace, store, url }: JobQueueStore, settings: BullmqSettings = {}) =>
  store === "Redis"
    ? RedisJobQueue.layer({ url, prefix: namespace, ...settings })
    : PostgresJobQueue.layer({ url, schema: namespace, ...settings })

const environmentOf = ({ namespace, store, url }: JobQueueStore) => ({
  QUEUE_STORE: store,
  QUEUE_URL: Redacted.value(url),
  QUEUE_NAMESPACE: namespace
})

/** A network namespace for a process whose link to this machine can be cut. Requires root and `ip`. */
const networkNamespace = Effect.acquireRelease(
  Effect.sync(() => {
    const id = randomBytes(2)
    const name = `berth${id.toString("hex")}`
    const [link, peer] = [`v${name}`, `p${name}`]
    const subnet = `10.213.${id.readUInt8(0)}.${id.readUInt8(1) & 0xfc}`
    const address = (host: number) => subnet.replace(/\d+$/, (last) => String(Number(last) + host))
    const ip = (line: string) => {
      const { status, stderr } = spawnSync("ip", line.split(" "), { encoding: "utf8" })
      assert.strictEqual(status, 0, `ip ${line}: ${stderr}`)
    }
    ip(`netns add ${name}`)
    ip(`link add ${link} type veth peer name ${peer}`)
    ip(`link set ${peer} netns ${name}`)
    ip(`addr add ${address(1)}/30 dev ${link}`)
    ip(`link set ${link} up`)
    ip(`-n ${name} addr add ${address(2)}/30 dev ${peer}`)
    ip(`-n ${name} link set ${peer} up`)
    return {
      host: address(1),
      wrapper: ["ip", "netns", "exec", name],
      cut: Effect.sync(() => ip(`-n ${name} link set ${peer} down`)),
      restore: Effect.sync(() => ip(`-n ${name} link set ${peer} up`)),
      remove: Effect.sync(() => ip(`netns del ${name}`))
    }
  }),
  ({ remove }) => remove
)

const canMakeNetworks =
  process.getuid?.() === 0 &&
  spawnSync("ip", ["netns", "add", "berth-probe"]).status === 0 &&
  spawnSync("ip", ["netns", "del", "berth-probe"]).status === 0

/** `skew`: milliseconds by which a worker's clock may be ahead of another's. */
const faultSpec =
  (place: Effect.Effect<JobQueueStore, never, Effect.Effect.Context<typeof freshDatabase>>, skew: number) => () => {
    it.scopedLive(
      "JobQueue leaves the jobs of a live worker alone when another worker's clock is ahead, and recovers those of dead ones",
      () =>
        Effect.gen(function* () {
          const here = yield* place
          const program = yield* compileProgram("JobHolder.ts")
          yield* Effect.gen(function* () {
            const queue = yield* JobQueue
            const runs = yield* Ref.make<ReadonlyArray<string>>([])
            yield* queue.add(job("orphan"))
            const dying = yield* startProgram(program, environmentOf(here))
            assert.strictEqual(yield* readFirstLine(dying), "orphan")
            yield* queue.add(job("long"))
            yield* queue.consume("tasks", { concurrency: 1, drain: 0 }, ({ id }) =>
              Effect.zipRight(
                Ref.update(runs, (current) => [...current, id]),
                Effect.never
              )
            )
            yield* eventually(runs, (current) => current.length === 1)
            const skewed = yield* startProgram(program, { ...environmentOf(here), ...runClockAhead(skew) })
            yield* killProcess(dying)
            assert.strictEqual(yield* readFirstLine(skewed), "orphan")
            assert.deepStrictEqual(yield* runs, ["long"])
            assert.deepInclude(yield* queue.counts("tasks"), { active: 2, waiting: 0, failed: 0 })
          }).pipe(Effect.provide(open(here, { lockDuration: "6 seconds", stalledInterval: "1 second" })))
        })
    )

    it.scopedLive("JobQueue runs a delayed job at most as early as a worker's clock is ahead", () =>
      Effect.gen(function* () {
        const here = yield* place
        const program = yield* compileProgram("JobHolder.ts")
        yield* Effect.gen(function* () {
          const queue = yield* JobQueue
          const postponedAt = yield* Effect.scoped(
            Effect.gen(function* () {
              yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, () =>
                Effect.fail(new JobPostponed({ after: Duration.seconds(3) }))
              )
              yield* queue.add(job("delayed"))
              yield* eventually(queue.counts("tasks"), ({ delayed }) => delayed === 1)
              return yield* Clock.currentTimeMillis
            })
          )
          const skewed = yield* startProgram(program, { ...environmentOf(here), ...runClockAhead(1000) })
          assert.strictEqual(yield* readFirstLine(skewed), "delayed")
          // The clock is read after the delay has begun.
          assert.isAtLeast((yield* Clock.currentTimeMillis) - postponedAt, 1000)
        }).pipe(Effect.provide(open(here)))
      })
    )

    const reason = canMakeNetworks ? "" : " (skipped: needs root and ip netns)"
    it.scopedLive.skipIf(!canMakeNetworks)(
      `JobQueue gives a worker its jobs again after its network was cut without notice${reason}`,
      () =>
        Effect.gen(function* () {
          const here = yield* place
          const network = yield* networkNamespace
          const proxy = yield* makeTcpProxy(here.url, network.host)
          const program = yield* compileProgram("JobHolder.ts")
          yield* Effect.gen(function* () {
            const queue = yield* JobQueue
            yield* queue.add(job("before"))
            const environment = { ...environmentOf({ ...here, url: proxy.url }), ENDS: "true" }
            const lines = collectLines(yield* startProgram(program, environment, network.wrapper))
            yield* eventually(queue.counts("tasks"), ({ completed }) => completed === 1)
            yield* network.cut
            yield* Effect.forEach(["one", "two", "three"], (id) => queue.add(job(id)))
            assert.strictEqual((yield* queue.counts("tasks")).completed, 1)
            yield* network.restore
            yield* eventually(queue.counts("tasks"), ({ completed }) => completed === 4, { timeout: "90 seconds" })
            assert.sameMembers([...new Set(yield* lines)], ["before", "one", "two", "three"])
          }).pipe(Effect.provide(open(here)))
        })
    )
  }

describe("JobQueue in PostgreSQL after a crash of the server", () => {
  it.scopedLive("JobQueue stops a run whose claim the crash has undone, and leaves the job to its next run", () =>
    Effect.gen(function* () {
      const here = { store: "PostgreSQL", url: yield* freshDatabase, namespace: "queues" } as const
      yield* Effect.gen(function* () {
        const queue = yield* JobQueue
        const [claimed, stopped] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        yield* queue.consume("tasks", { concurrency: 1, drain: 0 }, () =>
          Deferred.succeed(claimed, undefined).pipe(
            Effect.zipRight(Effect.never),
            Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
          )
        )
        yield* queue.add(job("undone"))
        yield* Deferred.await(claimed)
        // The claim's commit was not yet durable, and another worker has claimed the job.
        yield* runStatement(
          here.url,
          "update queues.job set lock_token = 'another', locked_until_ms = locked_until_ms + 60000 where state = 'active'"
        )
        yield* Effect.timeout(Deferred.await(stopped), "30 seconds")
        assert.deepInclude(yield* queue.counts("tasks"), { active: 1, waiting: 0, failed: 0, completed: 0 })
      }).pipe(Effect.provide(open(here, { lockDuration: "2 seconds", stalledInterval: "1 second" })))
    })
  )
})

describe(
  "JobQueue in PostgreSQL with faults of its workers",
  faultSpec(
    Effect.map(freshDatabase, (url) => ({ store: "PostgreSQL", url, namespace: "queues" })),
    1000
  )
)
describeWithTool(
  redisServer,
  "JobQueue in Redis with faults of its workers",
  faultSpec(
    Effect.sync(() => ({
      store: "Redis",
      url: Redacted.make(inject("redisUrl")),
      namespace: `test-${randomBytes(6).toString("hex")}`
    })),
    3_600_000
  )
)
