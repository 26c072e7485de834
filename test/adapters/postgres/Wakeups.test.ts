import { makeWakeups } from "@berth/infra/postgres/Wakeups"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import * as MigratedDatabase from "../../support/MigratedDatabase.ts"
import { sql } from "../../support/Sql.ts"

const channel = "test_wakeups"

layer(MigratedDatabase.layer, { excludeTestServices: true })("Wakeups", (it) => {
  it.scoped("A subscription ends at a notification of its payload, also at one sent before the wait", () =>
    Effect.gen(function* () {
      const wakeups = yield* makeWakeups(channel)
      const changed = yield* wakeups.subscribe("one", "2 minutes")
      // An established connection wakes every subscription once.
      yield* changed
      const waiting = yield* Effect.fork(changed)
      yield* sql`select pg_notify(${channel}, ${"one"})`
      yield* Fiber.join(waiting)
      yield* sql`select pg_notify(${channel}, ${"one"})`
      yield* changed
    })
  )

  it.effect("A subscription made in an uninterruptible region does not keep the scope from closing", () =>
    Effect.scoped(
      Effect.uninterruptible(
        Effect.flatMap(makeWakeups(channel), (wakeups) => Effect.flatten(wakeups.subscribe("one", "2 minutes")))
      )
    )
  )

  it.scoped("A subscription ignores other payloads and ends at its limit", () =>
    Effect.gen(function* () {
      const wakeups = yield* makeWakeups(channel)
      const [one, other] = [
        yield* wakeups.subscribe("one", "100 millis"),
        yield* wakeups.subscribe("other", "2 minutes")
      ]
      yield* other
      yield* one
      yield* sql`select pg_notify(${channel}, ${"other"})`
      const [waited] = yield* Effect.timed(one)
      assert.isAtLeast(Duration.toMillis(waited), 90)
      yield* other
    })
  )
})
