import { runStoppable } from "@berth/domain/shared/StoppableWork"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Option } from "effect"

const makeStops = () => {
  const stops = new Set<() => void>()
  return {
    stops,
    subscribe: (stop: () => void) => {
      stops.add(stop)
      return () => stops.delete(stop)
    }
  }
}

/** Endless work, with a deferred for its start and the events of its end. */
const makeEndlessWork = Effect.map(Deferred.make<void>(), (isRunning) => {
  const events: Array<string> = []
  const work = Deferred.succeed(isRunning, undefined).pipe(
    Effect.zipRight(Effect.never),
    Effect.onInterrupt(() => Effect.sync(() => events.push("interrupted")))
  )
  return { work, events, isRunning: Deferred.await(isRunning) }
})

describe("runStoppable", () => {
  it.effect("runStoppable returns the value or the failure of work that ends, and unsubscribes", () =>
    Effect.gen(function* () {
      const { stops, subscribe } = makeStops()
      assert.deepStrictEqual(yield* runStoppable(Effect.succeed("done"), subscribe), Option.some("done"))
      assert.strictEqual(yield* Effect.flip(runStoppable(Effect.fail("no"), subscribe)), "no")
      assert.strictEqual(stops.size, 0)
    })
  )

  it.effect("runStoppable interrupts work that is stopped, and returns none after its finalizers", () =>
    Effect.gen(function* () {
      const { stops, subscribe } = makeStops()
      const { events, isRunning, work } = yield* makeEndlessWork
      const fiber = yield* Effect.fork(Effect.map(runStoppable(work, subscribe), (end) => [end, [...events]]))
      yield* isRunning
      for (const stop of stops) stop()
      assert.deepStrictEqual(yield* Fiber.join(fiber), [Option.none(), ["interrupted"]])
      assert.strictEqual(stops.size, 0)
    })
  )

  it.effect("runStoppable returns none when it is stopped while it subscribes", () =>
    Effect.gen(function* () {
      const stopAtOnce = (stop: () => void) => {
        stop()
        return () => {}
      }
      assert.deepStrictEqual(yield* runStoppable(Effect.never, stopAtOnce), Option.none())
    })
  )

  it.effect("runStoppable interrupts its work with its caller, and waits for its finalizers", () =>
    Effect.gen(function* () {
      const { stops, subscribe } = makeStops()
      const { events, isRunning, work } = yield* makeEndlessWork
      const fiber = yield* Effect.fork(runStoppable(work, subscribe))
      yield* isRunning
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.deepStrictEqual(events, ["interrupted"])
      assert.strictEqual(stops.size, 0)
    })
  )
})
