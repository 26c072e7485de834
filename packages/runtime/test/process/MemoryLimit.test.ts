import { enforceMemoryLimit } from "@berth/runtime/process/MemoryLimit"
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"

const mib = 1024 * 1024

it.effect("ends a cell that has grown over its limit, and leaves one alone that has not", () =>
  Effect.gen(function* () {
    let resident = 100 * mib
    const watch = yield* Effect.fork(
      Effect.flip(enforceMemoryLimit({ limitMb: 256, resident: Effect.sync(() => resident) }))
    )
    yield* TestClock.adjust("1 minute")
    resident = 256 * mib
    yield* TestClock.adjust("1 minute")
    expect((yield* Fiber.poll(watch))._tag).toBe("None")
    resident = 258 * mib
    yield* TestClock.adjust("5 seconds")
    const failure = yield* Fiber.join(watch)
    expect(failure.message).toBe("The cell holds 258 MB, more than the 256 MB it may.")
  })
)
