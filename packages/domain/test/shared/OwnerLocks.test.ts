import * as OwnerLocks from "@berth/domain/shared/OwnerLocks"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, FiberId } from "effect"

const [one, other] = [UserId.make("usr_1"), UserId.make("usr_2")]

it.effect("OwnerLocks runs the calls for one owner one after the other, and those for other owners concurrently", () =>
  Effect.gen(function* () {
    const withOwnerLock = yield* OwnerLocks.make
    const go = yield* Deferred.make<void>()
    const ran: Array<string> = []
    const run = (name: string) => Effect.sync(() => ran.push(name))
    const first = yield* Effect.fork(withOwnerLock(one, Effect.zipRight(Deferred.await(go), Effect.fail("failed"))))
    yield* Effect.yieldNow()
    const interrupted = yield* Effect.fork(withOwnerLock(one, run("interrupted")))
    const last = yield* Effect.fork(withOwnerLock(one, run("last")))
    yield* Effect.yieldNow()
    yield* withOwnerLock(other, run("other"))
    yield* Fiber.interrupt(interrupted)
    assert.deepStrictEqual(ran, ["other"])
    yield* Deferred.succeed(go, undefined)
    assert.strictEqual(yield* Effect.flip(Fiber.join(first)), "failed")
    yield* Fiber.join(last)
    assert.deepStrictEqual(ran, ["other", "last"])
  })
)

it.effect("OwnerLocks admits the next call when an admitted one is interrupted before it begins", () =>
  Effect.gen(function* () {
    const withOwnerLock = yield* OwnerLocks.make
    const go = yield* Deferred.make<void>()
    const ran: Array<string> = []
    const first = yield* Effect.fork(
      Effect.map(withOwnerLock(one, Deferred.await(go)), () => interrupted.unsafeInterruptAsFork(FiberId.none))
    )
    yield* Effect.yieldNow()
    const interrupted: Fiber.RuntimeFiber<unknown> = yield* Effect.fork(
      withOwnerLock(
        one,
        Effect.sync(() => ran.push("interrupted"))
      )
    )
    const last = yield* Effect.fork(
      withOwnerLock(
        one,
        Effect.sync(() => ran.push("last"))
      )
    )
    yield* Effect.yieldNow()
    yield* Deferred.succeed(go, undefined)
    yield* Effect.all([Fiber.join(first), Fiber.join(last)])
    assert.deepStrictEqual(ran, ["last"])
  })
)
