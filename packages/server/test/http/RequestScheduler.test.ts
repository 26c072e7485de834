import { makeRequestScheduler } from "@berth/server/http/RequestScheduler"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Runtime } from "effect"
import { setImmediate } from "node:timers/promises"

const run = Runtime.runFork(Runtime.defaultRuntime)

/** Starts a request on each call; returns the numbers of those that have run. */
const makeRequests = () => {
  const scheduler = makeRequestScheduler()
  const done: Array<number> = []
  const start = (id: number, work: Effect.Effect<void> = Effect.void) => {
    scheduler.add()
    return run(
      Effect.map(work, () => {
        done.push(id)
        scheduler.remove()
      }),
      { scheduler, immediate: false }
    )
  }
  return { done, start }
}

describe("Scheduler of requests", () => {
  it("A single request runs in the same turn", async () => {
    const { done, start } = makeRequests()
    for (const id of [1, 2]) {
      start(id)
      await Promise.resolve()
      assert.strictEqual(done.at(-1), id)
      await setImmediate()
    }
  })

  it("Requests of one turn run together, in order, although each could end before the next is read", async () => {
    const { done, start } = makeRequests()
    start(1)
    await Promise.resolve()
    assert.deepStrictEqual(done, [1])
    for (const id of [2, 3]) {
      start(id)
      await Promise.resolve()
    }
    assert.deepStrictEqual(done, [1])
    await setImmediate()
    assert.deepStrictEqual(done, [1, 2, 3])
    start(4)
    await Promise.resolve()
    assert.deepStrictEqual(done, [1, 2, 3])
    await setImmediate()
    assert.deepStrictEqual(done, [1, 2, 3, 4])
  })

  it("A request beside one that waits runs after the turn's reads", async () => {
    const { done, start } = makeRequests()
    const waiting = start(1, Effect.never)
    await setImmediate()
    start(2)
    await Promise.resolve()
    assert.deepStrictEqual(done, [])
    await setImmediate()
    assert.deepStrictEqual(done, [2])
    await Effect.runPromise(Fiber.interrupt(waiting))
  })

  it("A single request that computes leaves the event loop to others", async () => {
    const { done, start } = makeRequests()
    const fiber = start(1, Effect.repeatN(Effect.yieldNow(), 100))
    await setImmediate()
    assert.deepStrictEqual(done, [])
    await Effect.runPromise(Fiber.join(fiber))
  })
})
