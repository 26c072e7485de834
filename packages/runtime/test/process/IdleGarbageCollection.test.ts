import { collectGarbage, collectWhenIdle } from "@berth/runtime/process/IdleGarbageCollection"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"

it.effect("IdleGarbageCollection runs once after the start and after turns, not during one", () =>
  Effect.gen(function* () {
    let now = { turns: 0, begun: 0 }
    let collections = 0
    const fiber = yield* Effect.fork(
      collectWhenIdle({ activity: Effect.sync(() => now), collect: Effect.sync(() => (collections += 1)) })
    )
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(collections, 1)
    now = { turns: 1, begun: 1 }
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(collections, 1)
    now = { turns: 0, begun: 3 }
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual(collections, 2)
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(collections, 2)
    yield* Fiber.interrupt(fiber)
  })
)

it.live("IdleGarbageCollection frees unreachable memory", () =>
  Effect.gen(function* () {
    const garbage = new WeakRef({ large: "x".repeat(1_000) })
    // Objects of this turn of the event loop are held until its end.
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    yield* collectGarbage
    assert.strictEqual(garbage.deref(), undefined)
  })
)
