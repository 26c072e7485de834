import { makeTimeoutWatcher, type TimeoutWatcher } from "@berth/domain/ai/streams/IdleTimeout"
import { describe, expect, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Fiber, TestClock } from "effect"

const patienceOf = (watch: TimeoutWatcher, deadline = Number.MAX_SAFE_INTEGER) =>
  watch.start({
    first: Duration.seconds(30),
    next: Duration.seconds(60),
    deadline,
    onTimeout: (reason) => ({ reason })
  })

const patience = (deadline?: number) => Effect.map(makeTimeoutWatcher, (watch) => patienceOf(watch, deadline))

/** What comes of waiting for a piece that never comes, and how many seconds after the start. */
const outcome = <A, E>(within: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(
      Effect.flatMap(Effect.flip(within), (failure) =>
        Effect.map(Clock.currentTimeMillis, (now) => ({ failure, at: now / 1_000 }))
      )
    )
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

describe("patience with a provider", () => {
  it.scoped("ends after its time to the second, for the first piece and for later ones", () =>
    Effect.gen(function* () {
      const one = yield* patience()
      expect(yield* outcome(one.apply(Effect.never))).toEqual({
        failure: { reason: "no answer within 30s" },
        at: 30
      })
    })
  )

  it.scoped("counts anew with each piece, however long lies between two", () =>
    Effect.gen(function* () {
      const one = yield* patience()
      expect(yield* one.apply(Effect.succeed("a"))).toBe("a")
      // Nobody waits now, so nothing runs out.
      yield* TestClock.adjust("95 seconds")
      expect(yield* one.apply(Effect.succeed("b"))).toBe("b")
      yield* TestClock.adjust("7 seconds")
      expect(yield* outcome(one.apply(Effect.never))).toEqual({
        failure: { reason: "nothing came for 1m" },
        at: 102 + 60
      })
    })
  )

  it.scoped("does not outlast the whole answer's time", () =>
    Effect.gen(function* () {
      const one = yield* patience(100_000)
      yield* one.apply(Effect.void)
      yield* TestClock.adjust("80 seconds")
      expect(yield* outcome(one.apply(Effect.never))).toEqual({
        failure: { reason: "the answer takes too long" },
        at: 100
      })
      expect(yield* Effect.flip(one.apply(Effect.succeed("late")))).toEqual({ reason: "the answer takes too long" })
    })
  )

  it.scoped("ends what it waited for, also where nothing may be interrupted", () =>
    Effect.gen(function* () {
      const one = yield* patience()
      const ended = yield* Deferred.make<void>()
      const piece = Effect.onInterrupt(Effect.never, () => Deferred.succeed(ended, undefined))
      const fiber = yield* Effect.forkDaemon(Effect.uninterruptible(Effect.flip(one.apply(piece))))
      yield* TestClock.adjust("30 seconds")
      yield* Deferred.await(ended)
      expect(yield* Fiber.join(fiber)).toEqual({ reason: "no answer within 30s" })
    })
  )

  it.scoped("leaves an interruption of who waits what it is", () =>
    Effect.gen(function* () {
      const one = yield* patience()
      const ended = yield* Deferred.make<void>()
      const begun = yield* Deferred.make<void>()
      const piece = Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never).pipe(
        Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
      )
      const fiber = yield* Effect.fork(one.apply(piece))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(ended)
      expect(yield* one.apply(Effect.succeed("next"))).toBe("next")
    })
  )

  it.scoped("is each answer's own, though one watch looks after all", () =>
    Effect.gen(function* () {
      const watch = yield* makeTimeoutWatcher
      const waitFrom = (start: Duration.DurationInput, deadline?: number) =>
        Effect.fork(
          Effect.delay(
            Effect.flatMap(Effect.flip(patienceOf(watch, deadline).apply(Effect.never)), ({ reason }) =>
              Effect.map(Clock.currentTimeMillis, (now) => `${now / 1_000} s: ${reason}`)
            ),
            start
          )
        )
      const waits = [
        yield* waitFrom("0 seconds"),
        yield* waitFrom("20 seconds"),
        // It comes later than the others and is late before them.
        yield* waitFrom("5 seconds", 12_000)
      ]
      yield* TestClock.adjust("1 hour")
      expect(yield* Fiber.join(Fiber.all(waits))).toEqual([
        "30 s: no answer within 30s",
        "50 s: no answer within 30s",
        "12 s: the answer takes too long"
      ])
    })
  )
})
