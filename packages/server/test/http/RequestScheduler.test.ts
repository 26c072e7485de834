import { makeRequestScheduler } from "@berth/server/http/RequestScheduler"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Runtime } from "effect"
import { setImmediate } from "node:timers/promises"

const run = Runtime.runFork(Runtime.defaultRuntime)

describe("Scheduler of requests", () => {
  it("Fibers of concurrent requests start in order, after the turn's reads", async () => {
    const scheduler = makeRequestScheduler(() => false)
    const started: Array<number> = []
    for (const id of [1, 2, 3])
      run(
        Effect.sync(() => started.push(id)),
        { scheduler, immediate: false }
      )
    await Promise.resolve()
    assert.deepStrictEqual(started, [])
    await setImmediate()
    assert.deepStrictEqual(started, [1, 2, 3])
  })

  it("The fiber of a single request starts in the same turn", async () => {
    const scheduler = makeRequestScheduler(() => true)
    let isStarted = false
    run(
      Effect.sync(() => {
        isStarted = true
      }),
      { scheduler, immediate: false }
    )
    await Promise.resolve()
    assert.isTrue(isStarted)
  })

  it("A single request that computes leaves the event loop to others", async () => {
    const scheduler = makeRequestScheduler(() => true)
    let isDone = false
    const compute = Effect.repeatN(Effect.yieldNow(), 100)
    const fiber = run(
      Effect.map(compute, () => {
        isDone = true
      }),
      { scheduler, immediate: false }
    )
    await setImmediate()
    assert.isFalse(isDone)
    await Effect.runPromise(Fiber.join(fiber))
  })
})
