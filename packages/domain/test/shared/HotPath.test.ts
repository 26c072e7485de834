import { provideDirectly, scopedDirectly } from "@berth/domain/shared/HotPath"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Option, Scope } from "effect"

class Name extends Context.Tag("@berth/test/Name")<Name, string>() {}

const nameOption = Effect.map(
  Effect.serviceOption(Name),
  Option.getOrElse(() => "none")
)

describe("provideDirectly", () => {
  it.effect("provideDirectly provides a service to its effect only, whether that succeeds or fails", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* provideDirectly(Name, Context.make(Name, "inner")), "inner")
      assert.strictEqual(yield* nameOption, "none")
      const failed = yield* Effect.flip(provideDirectly(Effect.flatMap(Name, Effect.fail), Context.make(Name, "inner")))
      assert.strictEqual(failed, "inner")
      assert.strictEqual(yield* nameOption, "none")
    })
  )

  it.effect("provideDirectly takes its services back from an interrupted effect before outer finalizers run", () =>
    Effect.gen(function* () {
      const isRunning = yield* Deferred.make<void>()
      const seen: Array<string> = []
      const fiber = yield* Effect.zipRight(Deferred.succeed(isRunning, undefined), Effect.never).pipe(
        (work) => provideDirectly(work, Context.make(Name, "inner")),
        Effect.ensuring(Effect.map(nameOption, (name) => seen.push(name))),
        Effect.fork
      )
      yield* Deferred.await(isRunning)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(seen, ["none"])
    })
  )
})

describe("scopedDirectly", () => {
  const finalizing = (events: Array<string>, name: string) =>
    Effect.addFinalizer((exit) => Effect.sync(() => events.push(`${name} ${exit._tag}`)))

  it.effect("scopedDirectly closes its scope with the exit of its effect, and outer resources later", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const outer = yield* Scope.make()
      yield* Effect.gen(function* () {
        const value = yield* scopedDirectly(Effect.as(finalizing(events, "inner"), "done"))
        assert.strictEqual(value, "done")
        yield* finalizing(events, "outer")
        const failed = yield* Effect.flip(
          scopedDirectly(Effect.zipRight(finalizing(events, "inner"), Effect.fail("no")))
        )
        assert.strictEqual(failed, "no")
      }).pipe(Scope.extend(outer))
      assert.deepStrictEqual(events, ["inner Success", "inner Failure"])
      yield* Scope.close(outer, Exit.void)
      assert.deepStrictEqual(events.at(-1), "outer Success")
    })
  )

  it.effect("scopedDirectly closes its scope when its effect is interrupted", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const isRunning = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        scopedDirectly(
          finalizing(events, "inner").pipe(
            Effect.zipRight(Deferred.succeed(isRunning, undefined)),
            Effect.zipRight(Effect.never)
          )
        )
      )
      yield* Deferred.await(isRunning)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(events, ["inner Failure"])
    })
  )

  it.effect("scopedDirectly reports the failure of its effect with that of a finalizer", () =>
    Effect.gen(function* () {
      const cause = yield* Effect.zipRight(
        Effect.addFinalizer(() => Effect.die("finalizer")),
        Effect.fail("work")
      ).pipe(scopedDirectly, Effect.sandbox, Effect.flip)
      assert.deepStrictEqual([...Cause.failures(cause)], ["work"])
      assert.deepStrictEqual([...Cause.defects(cause)], ["finalizer"])
    })
  )
})
