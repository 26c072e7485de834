import { type ChunkBatch, type ChunkSource, makeChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { type IdleTimeouts, makeIdleTimeouts } from "@berth/domain/ai/streams/IdleTimeout"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Stream, TestClock } from "effect"

const limitSource = <A>(timeouts: IdleTimeouts, source: ChunkSource<A, never>, deadline = Number.MAX_SAFE_INTEGER) =>
  timeouts.limit(source, {
    first: Duration.seconds(30),
    next: Duration.seconds(60),
    deadline,
    onTimeout: (reason) => ({ reason })
  })

interface Failure {
  readonly reason: string
}

const limitStream = <A>(stream: Stream.Stream<A>, deadline?: number) =>
  Effect.zipWith(makeIdleTimeouts, makeChunkSource(stream), (timeouts, source) =>
    limitSource(timeouts, source, deadline)
  )

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

const awaitMore = ({ awaitMore: wait, poll }: ChunkSource<unknown, Failure>) => {
  const failOn = (failure: Failure | undefined) => (failure === undefined ? Effect.void : Effect.fail(failure))
  return Effect.suspend(() => {
    const batch = poll()
    if (batch !== null) return failOn(batch.failure)
    return Effect.flatMap(wait, () => failOn(poll()?.failure))
  })
}

describe("IdleTimeouts", () => {
  it.scoped("IdleTimeouts.limit fails exactly after the first timeout without a chunk", () =>
    Effect.gen(function* () {
      const source = yield* limitStream(Stream.never)
      assert.deepStrictEqual(yield* failureOf(awaitMore(source)), {
        failure: { reason: "no answer within 30s" },
        at: 30
      })
    })
  )

  it.scoped("IdleTimeouts.limit counts anew with each wait, and not between two", () =>
    Effect.gen(function* () {
      const source = yield* limitStream(Stream.concat(Stream.rechunk(Stream.make("a", "b"), 1), Stream.never))
      yield* awaitMore(source)
      yield* TestClock.adjust("95 seconds")
      yield* awaitMore(source)
      yield* TestClock.adjust("7 seconds")
      assert.deepStrictEqual(yield* failureOf(awaitMore(source)), {
        failure: { reason: "no chunk within 1m" },
        at: 102 + 60
      })
    })
  )

  it.scoped("IdleTimeouts.limit fails at the deadline of the whole answer, and for every wait after it", () =>
    Effect.gen(function* () {
      const source = yield* limitStream(Stream.concat(Stream.make("a"), Stream.never), 100_000)
      yield* awaitMore(source)
      yield* TestClock.adjust("80 seconds")
      const late = { reason: "the answer takes too long" }
      assert.deepStrictEqual(yield* failureOf(awaitMore(source)), { failure: late, at: 100 })
      assert.deepStrictEqual(yield* Effect.flip(awaitMore(source)), late)
    })
  )

  it.scoped("IdleTimeouts.limit times out in an uninterruptible region, before the first chunk and after it", () =>
    Effect.gen(function* () {
      for (const [begun, reason] of [
        [Stream.empty, "no answer within 30s"],
        [Stream.make("a"), "no chunk within 1m"]
      ] as const) {
        const source = yield* limitStream(Stream.concat(begun, Stream.never))
        if (begun !== Stream.empty) yield* awaitMore(source)
        const fiber = yield* Effect.forkDaemon(Effect.uninterruptible(Effect.flip(awaitMore(source))))
        yield* TestClock.adjust("60 seconds")
        assert.deepStrictEqual(yield* Fiber.join(fiber), { reason })
      }
    })
  )

  it.scoped("IdleTimeouts.limit starts no fiber and works again after an interrupted wait", () =>
    Effect.gen(function* () {
      let waiting: Fiber.RuntimeFiber<unknown, unknown> | undefined
      let batch: ChunkBatch<string, never> | null = null
      const source = limitSource(yield* makeIdleTimeouts, {
        wake: () => {},
        poll: () => batch,
        awaitMore: Effect.withFiberRuntime<void>((fiber) => {
          waiting = fiber
          return Effect.never
        })
      })
      const reader = yield* Effect.fork(awaitMore(source))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(waiting, reader)
      yield* Fiber.interrupt(reader)
      yield* TestClock.adjust("1 hour")
      batch = { values: ["more"], isDone: false }
      yield* awaitMore(source)
    })
  )

  it.scoped("IdleTimeouts expire each timer at its own time", () =>
    Effect.gen(function* () {
      const timeouts = yield* makeIdleTimeouts
      const waitFrom = (start: Duration.DurationInput, deadline?: number) =>
        Effect.fork(
          Effect.delay(
            Effect.flatMap(makeChunkSource(Stream.never), (silent) =>
              Effect.flatMap(Effect.flip(awaitMore(limitSource(timeouts, silent, deadline))), ({ reason }) =>
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

  it.scoped("IdleTimeouts.limit wakes no reader of a source that has ended", () =>
    Effect.gen(function* () {
      let wakes = 0
      const source = limitSource(yield* makeIdleTimeouts, {
        wake: () => {
          wakes += 1
        },
        poll: () => null,
        awaitMore: Effect.never
      })
      source.poll()
      source.end()
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(wakes, 0)
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
