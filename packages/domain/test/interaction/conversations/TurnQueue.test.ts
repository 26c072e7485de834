import * as SessionLine from "@berth/domain/interaction/conversations/TurnQueue"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Scope, TestClock } from "effect"

const place = (line: SessionLine.TurnQueue, seq: number, session = "chs_1") =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const { wait } = yield* Scope.extend(line.enter(session, seq), scope)
    return { wait, leave: Scope.close(scope, Exit.void) }
  })

describe("The line of a session", () => {
  it.effect("TurnQueue wakes the first waiting turn at once when the one before it ends", () =>
    Effect.gen(function* () {
      const line = yield* SessionLine.make
      const [first, third, second] = [yield* place(line, 1), yield* place(line, 5), yield* place(line, 3)]
      const [late, soon] = [yield* Effect.fork(third.wait(0)), yield* Effect.fork(second.wait(0))]
      yield* Effect.yieldNow()
      yield* first.leave
      yield* Fiber.join(soon)
      assert.isTrue((yield* Fiber.poll(late))._tag === "None")
      yield* second.leave
      yield* Fiber.join(late)
    })
  )

  it.effect("TurnQueue wakes no turn of another session", () =>
    Effect.gen(function* () {
      const line = yield* SessionLine.make
      const [one, other] = [yield* place(line, 1), yield* place(line, 3, "chs_2")]
      const waiting = yield* Effect.fork(other.wait(10))
      yield* one.leave
      yield* TestClock.adjust("999 millis")
      assert.isTrue((yield* Fiber.poll(waiting))._tag === "None")
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(waiting)
    })
  )

  it.effect("TurnQueue polls for turns of other processes and missed notifications", () =>
    Effect.gen(function* () {
      const line = yield* SessionLine.make
      const [, behind] = [yield* place(line, 1), yield* place(line, 3)]
      const waiting = yield* Effect.fork(behind.wait(0))
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(waiting)
    })
  )

  it("TurnQueue polls less often each time, and at least once a second", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 3, 4, 5, 1000].map((looks) => Duration.toMillis(SessionLine.computeTurnPollDelay(looks))),
      [50, 100, 200, 400, 800, 1000, 1000]
    )
  })
})
