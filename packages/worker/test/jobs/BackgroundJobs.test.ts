import { JobPostponed } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Ref, TestClock } from "effect"
import { BackgroundJobs, layer, maximumBackgroundJobs } from "../../src/jobs/BackgroundJobs.ts"

const open = Effect.gen(function* () {
  const settled = yield* Ref.make<ReadonlyArray<string>>([])
  const outbox = Layer.mock(Outbox, { settle: (id) => Ref.update(settled, (current) => [...current, id]) })
  const jobs = yield* Effect.provide(
    BackgroundJobs,
    yield* Layer.build(Layer.provide(layer({ handOver: "200 millis" }), outbox))
  )
  /** The first run of a job whose work takes longer than its slot. */
  const handOver = <E>(id: string, work: Effect.Effect<void, E>) =>
    Effect.gen(function* () {
      const run = yield* Effect.fork(Effect.exit(jobs.run(id, work)))
      yield* TestClock.adjust("200 millis")
      assert.isTrue(isPostponed(yield* Fiber.join(run)), id)
    })
  return { settled, jobs, handOver }
})

const isPostponed = (exit: Exit.Exit<void, unknown>) =>
  Exit.isFailure(exit) && Option.exists(Exit.causeOption(exit), ({ _tag }) => _tag === "Fail")
    ? exit.cause._tag === "Fail" && exit.cause.error instanceof JobPostponed
    : false

describe("BackgroundJobs", () => {
  it.scoped("BackgroundJobs.run ends short work in the slot of its job", () =>
    Effect.gen(function* () {
      const { jobs, settled } = yield* open
      assert.deepStrictEqual(yield* Effect.exit(jobs.run("short", Effect.void)), Exit.void)
      assert.deepStrictEqual(yield* Effect.exit(jobs.run("failing", Effect.fail("down"))), Exit.fail("down"))
      assert.deepStrictEqual(yield* settled, [])
    })
  )

  it.scoped("BackgroundJobs.run postpones a job whose work goes on, without beginning it twice", () =>
    Effect.gen(function* () {
      const { handOver, jobs, settled } = yield* open
      const ends = yield* Deferred.make<void>()
      const begun = yield* Ref.make(0)
      const work = Effect.zipRight(
        Ref.update(begun, (count) => count + 1),
        Deferred.await(ends)
      )
      yield* handOver("long", work)
      assert.isTrue(isPostponed(yield* Effect.exit(jobs.run("long", work))))
      assert.strictEqual(yield* begun, 1)
      yield* Deferred.succeed(ends, undefined)
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(yield* settled, ["long"])
      assert.deepStrictEqual(yield* Effect.exit(jobs.run("long", work)), Exit.void)
    })
  )

  it.scoped("BackgroundJobs.run fails the next run of a job whose work failed in the background", () =>
    Effect.gen(function* () {
      const { handOver, jobs, settled } = yield* open
      yield* handOver("failing", Effect.delay(Effect.fail("down"), "1 second"))
      yield* TestClock.adjust("1 second")
      const next = yield* Effect.exit(jobs.run("failing", Effect.void))
      assert.deepStrictEqual(next, Exit.die("down"))
      assert.deepStrictEqual(yield* settled, [])
      assert.deepStrictEqual(yield* Effect.exit(jobs.run("failing", Effect.void)), Exit.void)
    })
  )

  it.scoped("BackgroundJobs.run bounds the work of a process", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open
      yield* Effect.forEach(
        Array.from({ length: maximumBackgroundJobs }, (_, at) => `job ${at}`),
        (id) => Effect.fork(jobs.run(id, Effect.never))
      )
      yield* TestClock.adjust("200 millis")
      assert.isTrue(isPostponed(yield* Effect.exit(jobs.run("one more", Effect.void))))
    })
  )

  it.scoped("BackgroundJobs.drain waits for work in progress, takes none, and interrupts the rest at its limit", () =>
    Effect.gen(function* () {
      const { handOver, jobs, settled } = yield* open
      const interrupted = yield* Ref.make(false)
      yield* handOver("ends", Effect.sleep("30 seconds"))
      yield* handOver(
        "hangs",
        Effect.onInterrupt(Effect.never, () => Ref.set(interrupted, true))
      )
      const drain = yield* Effect.fork(jobs.drain("1 minute"))
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* settled, ["ends"])
      assert.isTrue(isPostponed(yield* Effect.exit(jobs.run("late", Effect.void))))
      assert.isFalse(yield* interrupted)
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(drain)
      assert.isTrue(yield* interrupted)
    })
  )

  it.scoped("BackgroundJobs.drain postpones jobs whose work it interrupts in their slots", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open
      const begun = yield* Deferred.make<void>()
      const run = yield* Effect.fork(
        Effect.exit(jobs.run("hangs", Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)))
      )
      yield* Deferred.await(begun)
      const drain = yield* Effect.fork(jobs.drain(0))
      yield* TestClock.adjust(0)
      yield* Fiber.join(drain)
      assert.isTrue(isPostponed(yield* Fiber.join(run)))
    })
  )
})
