import { makeConcurrencyLimit } from "@berth/infra/crypto/ConcurrencyLimit"
import { DependencyUnavailable } from "@berth/domain/shared/DependencyUnavailable"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"

/** Work that the test ends, with a count of starts. */
const makeWork = () => {
  const ends: Array<() => void> = []
  return {
    begun: () => ends.length,
    end: (which: number) => ends[which]?.(),
    begin: () => new Promise<void>((resolve) => ends.push(resolve))
  }
}

describe("work turns", () => {
  it.effect("ConcurrencyLimit never exceeds its limit, also when callers leave", () =>
    Effect.gen(function* () {
      const inTurn = yield* makeConcurrencyLimit({ maxConcurrent: 1, maxWaiting: 64 })
      const work = makeWork()
      for (let leaver = 0; leaver < 12; leaver++) {
        const leaving = yield* Effect.forkDaemon(inTurn(work.begin))
        yield* Effect.yieldNow()
        yield* Fiber.interruptFork(leaving)
        yield* Effect.yieldNow()
      }
      // The first caller's work cannot be interrupted; the others' never started.
      assert.strictEqual(work.begun(), 1)
      const staying = yield* Effect.forkDaemon(inTurn(() => Promise.resolve("done")))
      yield* Effect.yieldNow()
      assert.strictEqual(work.begun(), 1)
      assert.isNull(staying.unsafePoll())
      work.end(0)
      assert.strictEqual(yield* Fiber.join(staying), "done")
    })
  )

  it.effect("ConcurrencyLimit rejects at once when its queue is full, and admits again when it is shorter", () =>
    Effect.gen(function* () {
      const inTurn = yield* makeConcurrencyLimit({ maxConcurrent: 1, maxWaiting: 2 })
      const work = makeWork()
      const first = yield* Effect.forkDaemon(inTurn(work.begin))
      const others = yield* Effect.replicateEffect(Effect.forkDaemon(inTurn(() => Promise.resolve("done"))), 2)
      yield* Effect.yieldNow()
      const refused = yield* Effect.flip(Effect.sandbox(inTurn(work.begin)))
      assert.isTrue(refused._tag === "Die" && refused.defect instanceof DependencyUnavailable)
      for (const other of others) assert.isNull(other.unsafePoll())
      // A rejected caller takes no place in the queue; an interrupted one frees its place.
      for (const other of others) yield* Fiber.interrupt(other)
      const next = yield* Effect.forkDaemon(inTurn(() => Promise.resolve("next")))
      work.end(0)
      yield* Fiber.join(first)
      assert.strictEqual(yield* Fiber.join(next), "next")
      assert.strictEqual(work.begun(), 1)
    })
  )

  it.effect("ConcurrencyLimit runs up to its limit, and the next when one ends", () =>
    Effect.gen(function* () {
      const inTurn = yield* makeConcurrencyLimit({ maxConcurrent: 2, maxWaiting: 64 })
      const work = makeWork()
      // Work is uninterruptible: as a child it would block a failing test.
      const call = Effect.forkDaemon(inTurn(work.begin))
      const first = yield* call
      const others = [yield* call, yield* call]
      yield* Effect.yieldNow()
      assert.strictEqual(work.begun(), 2)
      work.end(0)
      yield* Fiber.join(first)
      yield* Effect.repeat(Effect.yieldNow(), { until: () => work.begun() === 3 })
      work.end(1)
      work.end(2)
      yield* Fiber.joinAll(others)
    })
  )
})
