import { type ChunkSource, makeChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { type IdleTimeout, type IdleTimeouts, makeIdleTimeouts } from "@berth/domain/ai/streams/IdleTimeout"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Fiber, Stream, TestClock } from "effect"

const startTimeout = (timeouts: IdleTimeouts, deadline = Number.MAX_SAFE_INTEGER) =>
  Effect.flatMap(Effect.scope, (scope) =>
    timeouts.start(
      {
        first: Duration.seconds(30),
        next: Duration.seconds(60),
        deadline,
        onTimeout: (reason) => ({ reason })
      },
      scope
    )
  )

const makeTimeout = (deadline?: number) =>
  Effect.flatMap(makeIdleTimeouts, (timeouts) => startTimeout(timeouts, deadline))

/** The failure of a wait, and the seconds since the start at which it failed. */
const failureOf = <A, E>(wait: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(
      Effect.flatMap(Effect.flip(wait), (failure) =>
        Effect.map(Clock.currentTimeMillis, (now) => ({ failure, at: now / 1_000 }))
      )
    )
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

/** Waits once for a source under the timeout. */
const awaitMore = <E>(timeout: IdleTimeout<E>, source: ChunkSource<unknown, never>) => {
  const limited = timeout.limit(source)
  const failOn = (failure: E | undefined) => (failure === undefined ? Effect.void : Effect.fail(failure))
  return Effect.suspend(() => {
    const batch = limited.poll()
    if (batch !== null) return failOn(batch.failure)
    return Effect.flatMap(limited.awaitMore, () => failOn(limited.poll()?.failure))
  })
}

const silentSource = makeChunkSource(Stream.never)

describe("IdleTimeout", () => {
  it.scoped("IdleTimeout.open fails exactly after the first timeout without a chunk", () =>
    Effect.gen(function* () {
      const timeout = yield* makeTimeout()
      assert.deepStrictEqual(yield* failureOf(timeout.open(Effect.never)), {
        failure: { reason: "no answer within 30s" },
        at: 30
      })
    })
  )

  it.scoped("IdleTimeout.limit counts anew with each wait, and not between two", () =>
    Effect.gen(function* () {
      const timeout = yield* makeTimeout()
      assert.strictEqual(yield* timeout.open(Effect.succeed("a")), "a")
      yield* TestClock.adjust("95 seconds")
      yield* awaitMore(timeout, yield* makeChunkSource(Stream.make("b")))
      yield* TestClock.adjust("7 seconds")
      assert.deepStrictEqual(yield* failureOf(awaitMore(timeout, yield* silentSource)), {
        failure: { reason: "no chunk within 1m" },
        at: 102 + 60
      })
    })
  )

  it.scoped("IdleTimeout fails at the deadline of the whole answer, and for every wait after it", () =>
    Effect.gen(function* () {
      const timeout = yield* makeTimeout(100_000)
      yield* timeout.open(Effect.void)
      yield* TestClock.adjust("80 seconds")
      const source = yield* silentSource
      const late = { reason: "the answer takes too long" }
      assert.deepStrictEqual(yield* failureOf(awaitMore(timeout, source)), { failure: late, at: 100 })
      assert.deepStrictEqual(yield* Effect.flip(awaitMore(timeout, source)), late)
      assert.deepStrictEqual(yield* Effect.flip(timeout.open(Effect.succeed("late"))), late)
    })
  )

  it.scoped("IdleTimeout.open interrupts the opening, also in an uninterruptible region", () =>
    Effect.gen(function* () {
      const timeout = yield* makeTimeout()
      const ended = yield* Deferred.make<void>()
      const opening = Effect.onInterrupt(Effect.never, () => Deferred.succeed(ended, undefined))
      const fiber = yield* Effect.forkDaemon(Effect.uninterruptible(Effect.flip(timeout.open(opening))))
      yield* TestClock.adjust("30 seconds")
      yield* Deferred.await(ended)
      assert.deepStrictEqual(yield* Fiber.join(fiber), { reason: "no answer within 30s" })
    })
  )

  it.scoped("IdleTimeout.limit times out in an uninterruptible region", () =>
    Effect.gen(function* () {
      const timeout = yield* makeTimeout()
      yield* timeout.open(Effect.void)
      const source = yield* silentSource
      const fiber = yield* Effect.forkDaemon(Effect.uninterruptible(Effect.flip(awaitMore(timeout, source))))
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { reason: "no chunk within 1m" })
    })
  )

  it.scoped("IdleTimeout passes an interruption of the reader on as an interruption", () =>
    Effect.gen(function* () {
      const timeout = yield* makeTimeout()
      const ended = yield* Deferred.make<void>()
      const begun = yield* Deferred.make<void>()
      const opening = Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never).pipe(
        Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
      )
      const fiber = yield* Effect.fork(timeout.open(opening))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(ended)
      assert.strictEqual(yield* timeout.open(Effect.succeed("next")), "next")
    })
  )

  it.scoped("IdleTimeout.limit starts no fiber and works again after an interrupted wait", () =>
    Effect.gen(function* () {
      const timeout = yield* makeTimeout()
      yield* timeout.open(Effect.void)
      let waiting: Fiber.RuntimeFiber<unknown, unknown> | undefined
      const silent = {
        wake: () => {},
        poll: () => null,
        awaitMore: Effect.withFiberRuntime<void>((fiber) => {
          waiting = fiber
          return Effect.never
        })
      }
      const reader = yield* Effect.fork(awaitMore(timeout, silent))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(waiting, reader)
      yield* Fiber.interrupt(reader)
      yield* TestClock.adjust("1 hour")
      yield* awaitMore(timeout, yield* makeChunkSource(Stream.make("more")))
    })
  )

  it.scoped("IdleTimeouts expire each timer at its own time", () =>
    Effect.gen(function* () {
      const timeouts = yield* makeIdleTimeouts
      const waitFrom = (start: Duration.DurationInput, deadline?: number) =>
        Effect.fork(
          Effect.delay(
            Effect.flatMap(startTimeout(timeouts, deadline), (timeout) =>
              Effect.flatMap(Effect.flip(timeout.open(Effect.never)), ({ reason }) =>
                Effect.map(Clock.currentTimeMillis, (now) => `${now / 1_000} s: ${reason}`)
              )
            ),
            start
          )
        )
      const waits = [
        yield* waitFrom("0 seconds"),
        yield* waitFrom("20 seconds"),
        // Armed after the others, expires before them.
        yield* waitFrom("5 seconds", 12_000)
      ]
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* Fiber.join(Fiber.all(waits)), [
        "30 s: no answer within 30s",
        "50 s: no answer within 30s",
        "12 s: the answer takes too long"
      ])
    })
  )
})

describe("makeChunkSource", () => {
  it.scoped("makeChunkSource pulls its stream only when a chunk is awaited", () =>
    Effect.gen(function* () {
      let pulled = 0
      const source = yield* makeChunkSource(
        Stream.repeatEffect(
          Effect.sync(() => {
            pulled += 1
            return pulled
          })
        )
      )
      yield* Effect.yieldNow()
      assert.deepStrictEqual([pulled, source.poll()], [0, null])
      yield* source.awaitMore
      yield* source.awaitMore
      assert.deepStrictEqual(source.poll(), { values: [1], isDone: false })
      assert.deepStrictEqual([pulled, source.poll()], [1, null])
    })
  )

  it.scoped("makeChunkSource.awaitMore fails with the defect of its stream", () =>
    Effect.gen(function* () {
      const source = yield* makeChunkSource(Stream.die("broken"))
      assert.strictEqual(yield* Effect.catchAllDefect(source.awaitMore, Effect.succeed), "broken")
    })
  )
})
