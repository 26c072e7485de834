import {
  JobPermanentlyFailed,
  JobPostponed,
  JobQueue,
  JobUnsupported,
  type NewJob,
  type RunningJob
} from "@berth/domain/jobs/JobQueue"
import { defaultRetryPolicy } from "@berth/domain/jobs/JobRetryPolicy"
import type { BullmqSettings } from "@berth/infra/queue/BullmqStore"
import * as PostgresJobQueue from "@berth/infra/queue/PostgresJobQueue"
import * as RedisJobQueue from "@berth/infra/queue/RedisJobQueue"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Either, Exit, Fiber, Layer, Ref, Redacted, Scope } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { freshDatabase } from "../support/Databases.ts"
import { describeWithTool, redisServer } from "../support/RequiredTools.ts"
import { compileProgram, readFirstLine, killProcess, startProgram } from "../support/processes/ChildProcess.ts"
import { makeTcpProxy } from "../support/TcpProxy.ts"
import { eventually } from "../support/Eventually.ts"

interface JobQueueStore {
  readonly store: "PostgreSQL" | "Redis"
  readonly url: Redacted.Redacted
  readonly namespace: string
}

const postgres = Effect.map(freshDatabase, (url): JobQueueStore => ({ store: "PostgreSQL", url, namespace: "queues" }))
const redis = Effect.sync((): JobQueueStore => ({
  store: "Redis",
  url: Redacted.make(inject("redisUrl")),
  namespace: `test-${randomBytes(6).toString("hex")}`
}))

const open = ({ namespace, store, url }: JobQueueStore, settings: BullmqSettings = {}) =>
  Layer.build(
    store === "Redis"
      ? RedisJobQueue.layer({ url, prefix: namespace, ...settings })
      : PostgresJobQueue.layer({ url, schema: namespace, ...settings })
  ).pipe(Effect.map((context) => Effect.provide(context)))

const job = (id: string, payload: unknown = {}): NewJob => ({
  id,
  queue: "tasks",
  name: "test",
  payload,
  trace: null
})

const attempts = (count: number) => () => ({ ...defaultRetryPolicy, attempts: count })

const portSpec = (place: Effect.Effect<JobQueueStore, never, Scope.Scope>) => () => {
  /** Runs a test against a separate queue. */
  const against = <E>(settings: BullmqSettings, test: Effect.Effect<void, E, JobQueue | Scope.Scope>) =>
    Effect.gen(function* () {
      const provide = yield* open(yield* place, settings)
      yield* provide(test)
    })

  it.scopedLive(
    "JobQueue adds a job once as long as its id is known, also after its completion, for any text as id",
    () =>
      against(
        {},
        Effect.gen(function* () {
          const queue = yield* JobQueue
          const ran = yield* Ref.make<ReadonlyArray<string>>([])
          const ids = ["evt:1", "42", "a:b:c", "ünïcode/ id", "0"]
          for (const id of ids) yield* Effect.all([queue.add(job(id)), queue.add(job(id))], { concurrency: 2 })
          yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, ({ id }) =>
            Ref.update(ran, (current) => [...current, id])
          )
          yield* eventually(queue.counts("tasks"), ({ completed }) => completed === ids.length)
          for (const id of ids) yield* queue.add(job(id))
          yield* queue.add(job("last"))
          assert.deepStrictEqual(yield* eventually(ran, (current) => current.includes("last")), [...ids, "last"])
        })
      )
  )

  it.scopedLive("JobQueue keeps the queues separate", () =>
    against(
      {},
      Effect.gen(function* () {
        const queue = yield* JobQueue
        const ran = yield* Ref.make<ReadonlyArray<string>>([])
        yield* queue.add({ ...job("one"), queue: "provision" })
        yield* queue.add(job("one"))
        yield* queue.consume("provision", { concurrency: 1, drain: "5 seconds" }, ({ id }) =>
          Ref.update(ran, (current) => [...current, id])
        )
        yield* eventually(queue.counts("provision"), ({ completed }) => completed === 1)
        assert.strictEqual((yield* queue.counts("tasks")).waiting, 1)
        assert.deepStrictEqual(yield* ran, ["one"])
      })
    )
  )

  it.scopedLive("JobQueue runs as many jobs at once as its cap, and never more", () =>
    against(
      {},
      Effect.gen(function* () {
        const queue = yield* JobQueue
        const gate = yield* Effect.makeLatch(false)
        const flight = yield* Ref.make({ now: 0, most: 0 })
        yield* queue.consume("tasks", { concurrency: 3, drain: "5 seconds" }, () =>
          Ref.update(flight, ({ most, now }) => ({ now: now + 1, most: Math.max(most, now + 1) })).pipe(
            Effect.zipRight(gate.await),
            Effect.ensuring(Ref.update(flight, ({ most, now }) => ({ now: now - 1, most })))
          )
        )
        yield* Effect.forEach(
          Array.from({ length: 12 }, (_, n) => job(`job ${n}`)),
          queue.add,
          { concurrency: 4 }
        )
        yield* eventually(flight, ({ now }) => now >= 3)
        const counts = yield* eventually(queue.counts("tasks"), ({ waiting }) => waiting <= 9)
        assert.deepInclude(counts, { active: 3, waiting: 9 })
        yield* gate.open
        yield* eventually(queue.counts("tasks"), ({ completed }) => completed === 12)
        assert.deepStrictEqual(yield* flight, { now: 0, most: 3 })
      })
    )
  )

  it.scopedLive(
    "JobQueue retries with growing pauses up to the last attempt, and never after JobPermanentlyFailed",
    () =>
      against(
        { firstRetryPause: Duration.millis(100) },
        Effect.gen(function* () {
          const queue = yield* JobQueue
          const runs = yield* Ref.make<ReadonlyArray<RunningJob & { readonly at: number }>>([])
          yield* queue.consume("tasks", { concurrency: 5, drain: "5 seconds", retryPolicy: attempts(3) }, (running) =>
            Effect.gen(function* () {
              const at = yield* Clock.currentTimeMillis
              yield* Ref.update(runs, (current) => [...current, { ...running, at }])
              if (running.id === "permanent") return yield* new JobPermanentlyFailed({ reason: "no such agent" })
              if (running.id === "defect") return yield* Effect.die(new TypeError("not a function"))
              return yield* Effect.fail(new Error("boom"))
            })
          )
          yield* Effect.forEach(["failing", "permanent", "defect"], (id) => queue.add(job(id)))
          yield* eventually(queue.counts("tasks"), ({ failed }) => failed === 3)
          const of = (id: string) => Effect.map(runs, (all) => all.filter((run) => run.id === id))
          const failing = yield* of("failing")
          assert.deepStrictEqual(
            failing.map(({ attempt, isLastAttempt }) => [attempt, isLastAttempt]),
            [
              [1, false],
              [2, false],
              [3, true]
            ]
          )
          const [first = 0, second = 0, third = 0] = failing.map(({ at }) => at)
          assert.isAtLeast(second - first, 50)
          assert.isAtLeast(third - second, 100)
          assert.strictEqual((yield* of("permanent")).length, 1)
          assert.strictEqual((yield* of("defect")).length, 3)
          const reasons = (yield* queue.deadLetters("tasks", 10)).map(({ id, reason }) => [id, reason])
          assert.sameDeepMembers(reasons, [
            ["failing", "Error: boom"],
            ["permanent", "no such agent"],
            ["defect", "TypeError: not a function"]
          ])
        })
      )
  )

  it.scopedLive("JobQueue retries by the policy of the job's name, with pauses up to the policy's maximum", () =>
    against(
      { firstRetryPause: Duration.millis(20) },
      Effect.gen(function* () {
        const queue = yield* JobQueue
        const runs = yield* Ref.make<Record<string, number>>({ persistent: 0, other: 0 })
        yield* queue.consume(
          "mail",
          {
            concurrency: 2,
            drain: "5 seconds",
            retryPolicy: (name) =>
              name === "persistent"
                ? { attempts: Number.POSITIVE_INFINITY, maximumPause: Duration.millis(40) }
                : { attempts: 2, maximumPause: Duration.millis(40) }
          },
          ({ attempt, name }) =>
            Ref.update(runs, (current) => ({ ...current, [name]: attempt })).pipe(
              Effect.zipRight(attempt < 12 ? Effect.fail("outage") : Effect.void)
            )
        )
        for (const name of ["persistent", "other"]) yield* queue.add({ ...job(name), name, queue: "mail" })
        // Twelve doubled delays would take more than 20 seconds without the maximum.
        const counts = yield* eventually(queue.counts("mail"), ({ completed }) => completed === 1)
        assert.deepInclude(counts, { failed: 1, delayed: 0, waiting: 0 })
        assert.deepStrictEqual(yield* runs, { persistent: 12, other: 2 })
      })
    )
  )

  it.scopedLive("JobQueue lists its dead letters and replays them", () =>
    against(
      {},
      Effect.gen(function* () {
        const queue = yield* JobQueue
        const broken = yield* Ref.make(true)
        const runs = yield* Ref.make<ReadonlyArray<number>>([])
        yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds", retryPolicy: attempts(1) }, ({ attempt }) =>
          Ref.update(runs, (current) => [...current, attempt]).pipe(
            Effect.zipRight(Effect.if(broken, { onTrue: () => Effect.fail("broken"), onFalse: () => Effect.void }))
          )
        )
        for (const [n, id] of ["evt:1", "evt:2", "evt:3"].entries()) {
          yield* queue.add(job(id, { n }))
          yield* eventually(queue.counts("tasks"), ({ failed }) => failed === n + 1)
        }
        assert.strictEqual((yield* queue.deadLetters("tasks", 10)).length, 3)
        assert.deepStrictEqual(yield* queue.deadLetters("tasks", 1), [
          { id: "evt:3", name: "test", payload: { n: 2 }, reason: "broken" }
        ])
        assert.deepStrictEqual(yield* queue.deadLetters("tasks", 0), [])
        assert.deepStrictEqual(yield* queue.deadLetters("provision", 10), [])

        yield* Ref.set(broken, false)
        assert.isFalse(yield* queue.replay("tasks", "no such job"))
        assert.isTrue(yield* queue.replay("tasks", "evt:1"))
        yield* eventually(queue.counts("tasks"), ({ completed }) => completed === 1)
        assert.isFalse(yield* queue.replay("tasks", "evt:1"))
        assert.deepStrictEqual(yield* runs, [1, 1, 1, 1])
        assert.deepStrictEqual(
          (yield* queue.deadLetters("tasks", 10)).map(({ id }) => id),
          ["evt:3", "evt:2"]
        )
      })
    )
  )

  it.scopedLive("JobQueue runs postponed and unsupported jobs again without using up an attempt", () =>
    against(
      { unsupported: { retention: "1 hour", pause: "20 millis" } },
      Effect.gen(function* () {
        const queue = yield* JobQueue
        const runs = yield* Ref.make<ReadonlyArray<string>>([])
        const after = Duration.millis(20)
        yield* queue.consume(
          "tasks",
          { concurrency: 2, drain: "5 seconds", retryPolicy: attempts(1) },
          ({ attempt, id, isLastAttempt }) =>
            Effect.gen(function* () {
              assert.deepStrictEqual({ attempt, isLastAttempt }, { attempt: 1, isLastAttempt: true })
              const earlier = yield* Ref.getAndUpdate(runs, (current) => [...current, id])
              if (earlier.filter((one) => one === id).length < 3)
                return yield* id === "postponed" ? new JobPostponed({ after }) : new JobUnsupported({ reason: "new" })
            })
        )
        yield* Effect.forEach(["postponed", "unsupported"], (id) => queue.add(job(id)))
        yield* eventually(queue.counts("tasks"), ({ completed }) => completed === 2)
        assert.lengthOf(yield* runs, 8)
        assert.deepInclude(yield* queue.counts("tasks"), { failed: 0, delayed: 0 })
      })
    )
  )

  it.scopedLive("JobQueue keeps a job that no worker supported as a dead letter that a newer worker replays", () =>
    against(
      { unsupported: { retention: 0, pause: "20 millis" } },
      Effect.gen(function* () {
        const queue = yield* JobQueue
        const isNewer = yield* Ref.make(false)
        yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, () =>
          Effect.flatMap(isNewer, (newer) => (newer ? Effect.void : new JobUnsupported({ reason: "version 2" })))
        )
        yield* queue.add(job("new", { version: 2 }))
        yield* eventually(queue.counts("tasks"), ({ failed }) => failed === 1)
        assert.deepStrictEqual(yield* queue.deadLetters("tasks", 10), [
          { id: "new", name: "test", payload: { version: 2 }, reason: "version 2" }
        ])
        yield* Ref.set(isNewer, true)
        assert.isTrue(yield* queue.replay("tasks", "new"))
        yield* eventually(queue.counts("tasks"), ({ completed, failed }) => completed === 1 && failed === 0)
      })
    )
  )

  it.scopedLive("JobQueue discards a dead letter for good, and no other job", () =>
    against(
      {},
      Effect.gen(function* () {
        const queue = yield* JobQueue
        yield* queue.add(job("waiting"))
        assert.isFalse(yield* queue.discard("tasks", "waiting"))
        yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, ({ id }) =>
          id === "dead" ? new JobPermanentlyFailed({ reason: "no" }) : Effect.void
        )
        yield* queue.add(job("dead"))
        yield* eventually(queue.counts("tasks"), ({ completed, failed }) => completed === 1 && failed === 1)
        assert.isFalse(yield* queue.discard("provision", "dead"))
        assert.isTrue(yield* queue.discard("tasks", "dead"))
        assert.isFalse(yield* queue.discard("tasks", "dead"))
        assert.isFalse(yield* queue.replay("tasks", "dead"))
        assert.deepInclude(yield* queue.counts("tasks"), { completed: 1, failed: 0 })
      })
    )
  )

  it.scopedLive("JobQueue starts no job of a paused queue in any process, and all of them once it is resumed", () =>
    Effect.gen(function* () {
      const here = yield* place
      const operator = yield* open(here)
      const ran = yield* Ref.make<ReadonlyArray<string>>([])
      yield* Effect.gen(function* () {
        const queue = yield* JobQueue
        const consume = (name: "tasks" | "mail") =>
          queue.consume(name, { concurrency: 1, drain: "5 seconds" }, ({ id }) =>
            Ref.update(ran, (current) => [...current, id])
          )
        const change = (of: "pause" | "resume") =>
          operator(Effect.flatMap(JobQueue, (other) => Effect.repeatN(other[of]("tasks"), 1)))
        yield* change("pause")
        assert.isTrue(yield* queue.isPaused("tasks"))
        assert.isFalse(yield* queue.isPaused("mail"))
        yield* consume("tasks")
        yield* consume("mail")
        yield* queue.add(job("held"))
        yield* queue.add({ ...job("free"), queue: "mail" })
        yield* eventually(ran, (current) => current.includes("free"))
        assert.deepInclude(yield* queue.counts("tasks"), { waiting: 1, active: 0 })
        yield* change("resume")
        assert.isFalse(yield* queue.isPaused("tasks"))
        assert.deepStrictEqual(yield* eventually(ran, (current) => current.includes("held")), ["free", "held"])
      }).pipe(yield* open(here))
    })
  )

  it.scopedLive("JobQueue accepts any text in payloads, ids and failures", () =>
    against(
      {},
      Effect.gen(function* () {
        const queue = yield* JobQueue
        const seen = yield* Deferred.make<unknown>()
        yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds", retryPolicy: attempts(1) }, ({ payload }) =>
          Effect.zipRight(Deferred.succeed(seen, payload), Effect.fail(new Error("a\u0000b\ud800c")))
        )
        yield* queue.add(job("id\u0000\udfff", { "k\u0000": ["x\u0000y", "\ud800z", { é: "😀" }], none: undefined }))
        assert.deepStrictEqual(yield* Deferred.await(seen), { k: ["xy", "\ufffdz", { é: "😀" }] })
        yield* eventually(queue.counts("tasks"), ({ failed }) => failed === 1)
        const [letter] = yield* queue.deadLetters("tasks", 1)
        assert.strictEqual(letter?.reason, "Error: ab\ufffdc")
        assert.strictEqual(letter?.id, "id\ufffd")
      })
    )
  )

  it.scopedLive(
    "JobQueue takes no further job on closing and lets running ones finish, although its own fiber was interrupted",
    () =>
      against(
        {},
        Effect.gen(function* () {
          const queue = yield* JobQueue
          const gate = yield* Effect.makeLatch(false)
          const running = yield* Ref.make(0)
          const closing = yield* Deferred.make<void>()
          const worker = yield* queue
            .consume("tasks", { concurrency: 2, drain: "20 seconds" }, () =>
              Effect.zipRight(
                Ref.update(running, (n) => n + 1),
                gate.await
              )
            )
            .pipe(
              Effect.zipRight(Effect.addFinalizer(() => Deferred.succeed(closing, undefined))),
              Effect.zipRight(Effect.never),
              Effect.scoped,
              Effect.fork
            )
          yield* Effect.forEach(["1", "2", "3", "4", "5"], (id) => queue.add(job(id)))
          yield* eventually(running, (n) => n === 2)
          yield* Fiber.interruptFork(worker)
          yield* Deferred.await(closing)
          // The store's response arrives long after the worker's close, which follows in the same turn.
          yield* queue.counts("tasks")
          yield* gate.open
          yield* Fiber.await(worker)
          assert.strictEqual(yield* running, 2)
          assert.deepInclude(yield* queue.counts("tasks"), { completed: 2, active: 0, waiting: 3, failed: 0 })
        })
      )
  )

  it.scopedLive("JobQueue returns unfinished jobs to the queue without using up an attempt", () =>
    against(
      {},
      Effect.gen(function* () {
        const queue = yield* JobQueue
        const first = yield* Deferred.make<number>()
        const cleanedUp = yield* Ref.make(false)
        const scope = yield* Scope.make()
        yield* queue
          .consume("tasks", { concurrency: 1, drain: "100 millis" }, ({ attempt }) =>
            Deferred.succeed(first, attempt).pipe(
              Effect.zipRight(Effect.never),
              Effect.onInterrupt(() => Ref.set(cleanedUp, true))
            )
          )
          .pipe(Scope.extend(scope))
        yield* queue.add(job("long"))
        assert.strictEqual(yield* Deferred.await(first), 1)
        yield* Scope.close(scope, Exit.void)
        assert.isTrue(yield* cleanedUp)
        assert.deepInclude(yield* queue.counts("tasks"), { active: 0, waiting: 1, failed: 0 })

        const second = yield* Deferred.make<number>()
        yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, ({ attempt }) =>
          Deferred.succeed(second, attempt)
        )
        assert.strictEqual(yield* Deferred.await(second), 1)
      })
    )
  )

  it.scopedLive("JobQueue keeps the outcome of a run whose `onExit` the end of a drain interrupts", () =>
    against(
      {},
      Effect.gen(function* () {
        const queue = yield* JobQueue
        const ended = yield* Deferred.make<Exit.Exit<void, unknown>>()
        const onExit = (_job: RunningJob, exit: Exit.Exit<void, unknown>) =>
          Effect.zipRight(Deferred.succeed(ended, exit), Effect.exit(Effect.interruptible(Effect.never)))
        const scope = yield* Scope.make()
        yield* queue
          .consume("tasks", { concurrency: 1, drain: "100 millis", onExit }, () => Effect.void)
          .pipe(Scope.extend(scope))
        yield* queue.add(job("done"))
        assert.deepStrictEqual(yield* Deferred.await(ended), Exit.void)
        yield* Scope.close(scope, Exit.void)
        assert.deepInclude(yield* queue.counts("tasks"), { active: 0, waiting: 0, completed: 1, failed: 0 })
      })
    )
  )

  it.scopedLive("JobQueue continues the trace of the cause of a job, and starts one where there was none", () =>
    against(
      {},
      Effect.gen(function* () {
        const queue = yield* JobQueue
        const spans = yield* Ref.make<Record<string, unknown>>({})
        yield* queue
          .consume("tasks", { concurrency: 1, drain: "5 seconds" }, ({ id, trace }) =>
            Effect.gen(function* () {
              const span = yield* Effect.orDie(Effect.currentSpan)
              const parent = span.parent._tag === "Some" ? span.parent.value.spanId : null
              yield* Ref.update(spans, (current) => ({
                ...current,
                [id]: { trace, name: span.name, kind: span.kind, traceId: span.traceId, parent }
              }))
            })
          )
          .pipe(Effect.withSpan("start of the worker"))
        const trace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", sampled: true }
        yield* queue.add({ ...job("caused"), trace })
        yield* queue.add(job("uncaused"))
        const { caused, uncaused } = yield* eventually(spans, (current) => "caused" in current && "uncaused" in current)
        assert.deepStrictEqual(caused, {
          trace,
          name: "process tasks",
          kind: "consumer",
          traceId: trace.traceId,
          parent: trace.spanId
        })
        assert.deepInclude(uncaused, { trace: null, parent: null })
      })
    )
  )

  it.scopedLive(
    "JobQueue runs a job again whose worker was killed, in the same attempt, and makes it a dead letter when that repeats",
    () =>
      Effect.gen(function* () {
        const program = yield* compileProgram("JobHolder.ts")
        const here = yield* place
        const environment = {
          QUEUE_STORE: here.store,
          QUEUE_URL: Redacted.value(here.url),
          QUEUE_NAMESPACE: here.namespace
        }
        const timing = { lockDuration: "5 seconds", stalledInterval: "1 second" } as const
        const provide = yield* open(here, { ...timing, maxStalledCount: 1 })
        yield* Effect.gen(function* () {
          const queue = yield* JobQueue
          yield* queue.add(job("evt:1"))
          const child = yield* startProgram(program, environment)
          assert.strictEqual(yield* readFirstLine(child), "evt:1")
          yield* killProcess(child)

          const scope = yield* Scope.make()
          const again = yield* Deferred.make<RunningJob>()
          yield* queue
            .consume("tasks", { concurrency: 1, drain: "100 millis" }, (running) =>
              Effect.zipRight(Deferred.succeed(again, running), Effect.never)
            )
            .pipe(Scope.extend(scope))
          const running = yield* Deferred.await(again)
          assert.deepInclude(running, { id: "evt:1", attempt: 1 })
          yield* Scope.close(scope, Exit.void)

          const second = yield* startProgram(program, environment)
          assert.strictEqual(yield* readFirstLine(second), "evt:1")
          yield* killProcess(second)
          yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, () =>
            Effect.dieMessage("this job has killed two workers and must not run")
          )
          yield* eventually(queue.counts("tasks"), ({ failed }) => failed === 1)
          const [letter] = yield* queue.deadLetters("tasks", 1)
          assert.strictEqual(letter?.id, "evt:1")
          assert.match(letter?.reason ?? "", /stalled/)
        }).pipe(provide)
      })
  )

  it.scopedLive("JobQueue fails with QueueUnavailable during an outage of its store, and continues afterwards", () =>
    Effect.gen(function* () {
      const here = yield* place
      const proxy = yield* makeTcpProxy(here.url)
      const provide = yield* open({ ...here, url: proxy.url })
      yield* Effect.gen(function* () {
        const queue = yield* JobQueue
        const ran = yield* Ref.make<ReadonlyArray<string>>([])
        yield* queue.consume("tasks", { concurrency: 1, drain: "5 seconds" }, ({ id }) =>
          Ref.update(ran, (current) => [...current, id])
        )
        yield* queue.add(job("before"))
        yield* eventually(ran, (current) => current.includes("before"))
        yield* proxy.rejectConnections
        const failure = yield* Effect.flip(queue.add(job("during")))
        assert.deepInclude(failure, { _tag: "QueueUnavailable", operation: "add" })
        yield* proxy.acceptConnections
        yield* eventually(Effect.either(queue.add(job("after"))), Either.isRight)
        yield* eventually(ran, (current) => current.includes("after"))
      }).pipe(provide)
    })
  )

  it.scopedLive("JobQueue fails to start while its store is unreachable", () =>
    Effect.gen(function* () {
      const here = yield* place
      const proxy = yield* makeTcpProxy(here.url)
      yield* proxy.rejectConnections
      const failure = yield* Effect.flip(open({ ...here, url: proxy.url }))
      assert.deepInclude(failure, { _tag: "QueueUnavailable", operation: "connect" })
    })
  )
}

// Concurrent: most of the time is waiting, each for a separate queue.
describe.concurrent("JobQueue in PostgreSQL", portSpec(postgres))
describeWithTool(redisServer, "JobQueue in Redis", portSpec(redis), { concurrent: true })
