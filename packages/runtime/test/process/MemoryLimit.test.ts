import { enforceMemoryLimit } from "@berth/runtime/process/MemoryLimit"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"

const mib = 1024 * 1024

it.effect("MemoryLimit ends a runtime above its memory limit and no other", () =>
  Effect.gen(function* () {
    let resident = 100 * mib
    const watch = yield* Effect.fork(
      Effect.flip(enforceMemoryLimit({ limitMb: 256, resident: Effect.sync(() => resident) }))
    )
    yield* TestClock.adjust("1 minute")
    resident = 256 * mib
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* Fiber.poll(watch))._tag, "None")
    resident = 258 * mib
    yield* TestClock.adjust("5 seconds")
    const failure = yield* Fiber.join(watch)
    assert.strictEqual(failure.message, "The runtime uses 258 MB, above its limit of 256 MB.")
  })
)
