import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Ref, Scope, TestClock } from "effect"
import { runRecurringTask } from "../../src/jobs/RecurringTask.ts"

describe("runRecurringTask", () => {
  it.effect("runRecurringTask continues after failures and defects, and ends with its scope", () =>
    Effect.gen(function* () {
      const rounds = yield* Ref.make(0)
      const work = Effect.flatMap(
        Ref.updateAndGet(rounds, (n) => n + 1),
        (n) =>
          n === 1 ? Effect.fail("no") : n === 2 ? Effect.dieMessage("never") : n === 3 ? Effect.interrupt : Effect.void
      )
      const scope = yield* Scope.make()
      yield* Scope.extend(runRecurringTask("test", "1 minute", work), scope)
      yield* TestClock.adjust("4 minutes")
      assert.strictEqual(yield* rounds, 5)
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(yield* rounds, 5)
    })
  )
})
