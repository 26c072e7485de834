import * as SessionQueue from "@berth/runtime/interaction/SessionQueue"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, FastCheck, Fiber, Scope } from "effect"

/** An entry of the queue: its turn, and its release. */
const take = (queue: SessionQueue.SessionQueue, session: string) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const myTurn = yield* Scope.extend(queue.join(session), scope)
    const waiting = yield* Effect.fork(myTurn)
    return {
      come: Effect.map(Fiber.poll(waiting), (exit) => exit._tag === "Some"),
      giveUp: Effect.zipRight(Scope.close(scope, Exit.void), settle)
    }
  })

/** Lets every runnable fiber continue. */
const settle = Effect.repeatN(Effect.yieldNow(), 20)

it.effect.prop(
  "SessionQueue runs one turn at a time in order, also when waiting turns leave",
  [FastCheck.array(FastCheck.nat({ max: 9 }), { minLength: 1, maxLength: 10 })],
  ([leavers]) =>
    Effect.gen(function* () {
      const queue = yield* SessionQueue.make({ places: 100 })
      const places = yield* Effect.forEach(Array.from({ length: 10 }), () => take(queue, "s"))
      const gone = new Set<number>()
      for (const leaver of leavers) {
        if (gone.has(leaver)) continue
        gone.add(leaver)
        yield* places[leaver]?.giveUp ?? Effect.void
        const come = yield* Effect.forEach(places, (place) => place.come)
        const first = come.findIndex((_, at) => !gone.has(at))
        // Of the remaining entries, only the first has its turn.
        assert.deepStrictEqual(
          come.flatMap((its, at) => (its && !gone.has(at) ? [at] : [])),
          first === -1 ? [] : [first]
        )
      }
    })
)

it.effect("SessionQueue keeps sessions apart", () =>
  Effect.gen(function* () {
    const queue = yield* SessionQueue.make({ places: 100 })
    const one = yield* take(queue, "one")
    const behind = yield* take(queue, "one")
    const other = yield* take(queue, "other")
    yield* settle
    assert.deepStrictEqual(yield* Effect.all([one.come, behind.come, other.come]), [true, false, true])
  })
)

it.effect("SessionQueue rejects turns above its limit, and admits one when a place is free", () =>
  Effect.gen(function* () {
    const queue = yield* SessionQueue.make({ places: 2 })
    const first = yield* take(queue, "a")
    yield* take(queue, "b")
    assert.strictEqual((yield* Effect.flip(take(queue, "c")))._tag, "TurnLimitReached")
    yield* first.giveUp
    yield* take(queue, "c")
  })
)
