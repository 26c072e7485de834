import { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import { QueueName } from "@berth/domain/jobs/JobKind"
import { JobQueue, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { SendMailJob } from "@berth/domain/mail/MailOutbox"
import { RemoveAccountJob } from "@berth/domain/recovery/deletion/AccountDeletionJobs"
import { DependencyUnavailable, OutageDetector } from "@berth/domain/shared/DependencyUnavailable"
import * as AgentManagerTest from "@berth/infra/backend/AgentManagerTest"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Option, Ref, Scope, TestClock } from "effect"
import * as JobConsumers from "../../src/jobs/JobConsumers.ts"
import { JobTimedOut, longestRun } from "../../src/jobs/JobTimeout.ts"
import { findRetryPolicy } from "../../src/jobs/JobHandlers.ts"
import { unusedPorts } from "./UnusedPorts.ts"
import { ProvisionAgentJob, ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"

const job: RunningJob = {
  id: "1",
  name: ProvisionAgentJob.name,
  payload: { agentId: "agt_1" },
  trace: null,
  attempt: 1,
  isLastAttempt: false
}

const noOutages = Layer.succeed(OutageDetector, { detect: () => Option.none() })

describe("JobConsumers", () => {
  it.scoped("JobConsumers consume every queue with its slots, and close all at the same time", () =>
    Effect.gen(function* () {
      const working = yield* Ref.make<Record<string, unknown>>({})
      const closing = yield* Effect.all(
        QueueName.literals.map(() => Deferred.make<void>()),
        { concurrency: "unbounded" }
      )
      const queue = Layer.mock(JobQueue, {
        consume: (name, { onExit: _onExit, retryPolicy: _policy, ...options }, handle) =>
          Effect.gen(function* () {
            const exit = yield* Effect.exit(handle(job))
            yield* Ref.update(working, (current) => ({
              ...current,
              [name]: { ...options, done: Exit.isSuccess(exit) }
            }))
            yield* Effect.addFinalizer(() => {
              const own = closing[QueueName.literals.indexOf(name)]
              assert.isDefined(own)
              // Each waits until all close.
              return Effect.zipRight(
                own === undefined ? Effect.void : Deferred.succeed(own, undefined),
                Effect.forEach(closing, Deferred.await, { discard: true })
              )
            })
          })
      })
      const scope = yield* Scope.make()
      const consumers = JobConsumers.layer({ concurrency: { tasks: 5, provision: 2 }, drain: "5 minutes" })
      const outbox = Layer.mock(Outbox, { settle: () => Effect.void })
      yield* Layer.buildWithScope(Layer.provide(consumers, [unusedPorts, queue, outbox, noOutages]), scope)
      assert.deepStrictEqual(yield* working, {
        tasks: { concurrency: 5, drain: "5 minutes", done: false },
        provision: { concurrency: 2, drain: "5 minutes", done: true },
        mail: { concurrency: 2, drain: "5 minutes", done: false },
        "card-events": { concurrency: 2, drain: "5 minutes", done: false }
      })
      yield* Scope.close(scope, Exit.void)
    })
  )

  it("JobConsumers retry mail and reconfigurations of instances without limit, other jobs five times", () => {
    for (const kind of [SendMailJob, ReconfigureInstanceJob])
      assert.strictEqual(findRetryPolicy(kind.queue)(kind.name).attempts, Number.POSITIVE_INFINITY, kind.name)
    for (const kind of [ProvisionAgentJob, RemoveAccountJob])
      assert.strictEqual(findRetryPolicy(kind.queue)(kind.name).attempts, 5, kind.name)
  })

  /** Runs one job of the provision queue, while the outbox does not respond at first. */
  const consumeOne = (
    changes: Partial<RunningJob>,
    deploy: Effect.Effect<void, BackendUnavailable | InstanceUnavailable>,
    outages: Layer.Layer<OutageDetector> = noOutages,
    settleFailures = 0
  ) =>
    Effect.gen(function* () {
      const settled = yield* Ref.make<ReadonlyArray<string>>([])
      const ended = yield* Ref.make<Exit.Exit<void, unknown>>(Exit.void)
      const queue = Layer.mock(JobQueue, {
        consume: (name, { onExit }, handle) => {
          const running = { ...job, ...changes }
          return name === "provision"
            ? Effect.exit(handle(running)).pipe(
                Effect.tap((exit) => onExit?.(running, exit)),
                Effect.flatMap((exit) => Ref.set(ended, exit))
              )
            : Effect.void
        }
      })
      const deploying = AgentManagerTest.layerWithBehavior({ deploy: () => deploy })
      let failures = settleFailures
      const outbox = Layer.mock(Outbox, {
        settle: (id) =>
          Effect.suspend(() =>
            failures-- > 0
              ? Effect.dieMessage("connection refused")
              : Ref.update(settled, (current) => [...current, id])
          )
      })
      const consumers = JobConsumers.layer({ concurrency: { tasks: 5, provision: 2 }, drain: "5 minutes" })
      yield* Layer.build(Layer.provide(consumers, [unusedPorts, queue, deploying, outbox, outages]))
      return { settled: yield* settled, exit: yield* ended }
    })

  const outcomes: ReadonlyArray<readonly [string, Partial<RunningJob>, Parameters<typeof consumeOne>[1], boolean]> = [
    ["succeeds", {}, Effect.void, true],
    ["fails in its last attempt", { isLastAttempt: true }, new InstanceUnavailable({ reason: "down" }), true],
    ["is postponed in its last attempt", { isLastAttempt: true }, new BackendUnavailable({ reason: "down" }), false],
    ["is not supported by this worker", { payload: "nonsense", isLastAttempt: true }, Effect.void, false],
    ["runs again", { attempt: 4 }, new InstanceUnavailable({ reason: "down" }), false],
    ["was interrupted", { isLastAttempt: true }, Effect.interrupt, false]
  ]
  for (const [outcome, changes, deploys, isSettled] of outcomes)
    it.scoped(`${isSettled ? "settle" : "do not settle"} a job that ${outcome}`, () =>
      Effect.gen(function* () {
        const { settled } = yield* consumeOne(changes, deploys)
        assert.deepStrictEqual(settled, isSettled ? [job.id] : [])
      })
    )

  it.scoped("JobConsumers settle a completed job when the database is back, before its end", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.scoped(consumeOne({}, Effect.void, noOutages, 4)))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { settled: [job.id], exit: Exit.void })
    })
  )

  it.scoped("JobConsumers interrupt a job that hangs after an hour, and fail it so that it runs again", () =>
    Effect.gen(function* () {
      const interrupted = yield* Ref.make(false)
      const hangs = Effect.onInterrupt(Effect.never, () => Ref.set(interrupted, true))
      const fiber = yield* Effect.fork(Effect.scoped(consumeOne({}, hangs)))
      yield* TestClock.adjust(Duration.subtract(longestRun, "1 second"))
      assert.isFalse(yield* interrupted)
      yield* TestClock.adjust("1 second")
      const { exit, settled } = yield* Fiber.join(fiber)
      assert.isTrue(yield* interrupted)
      assert.deepStrictEqual(exit, Exit.fail(new JobTimedOut()))
      assert.deepStrictEqual(settled, [])
    })
  )

  it.scoped("JobConsumers fail a job with DependencyUnavailable when it dies of an outage", () =>
    Effect.gen(function* () {
      const outage = new DependencyUnavailable({ dependency: "the database", retryAfter: Duration.seconds(5) })
      const detector = Layer.succeed(OutageDetector, { detect: () => Option.some(outage) })
      const { exit } = yield* consumeOne({}, Effect.dieMessage("connection refused"), detector)
      assert.deepStrictEqual(exit, Exit.fail(outage))
    })
  )
})
