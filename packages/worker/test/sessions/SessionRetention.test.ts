import { SessionRepository } from "@berth/domain/sessions/SessionRepository"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Ref, TestClock } from "effect"
import * as SessionRetention from "../../src/sessions/SessionRetention.ts"

describe("ExpiredSessions", () => {
  it.scoped("deletes them at the start and every hour", () =>
    Effect.gen(function* () {
      const moments = yield* Ref.make<ReadonlyArray<number>>([])
      const sessions = Layer.mock(SessionRepository, {
        removeExpired: (now) =>
          Effect.as(
            Ref.update(moments, (so) => [...so, DateTime.toEpochMillis(now)]),
            3
          )
      })
      yield* Layer.build(Layer.provide(SessionRetention.layer, sessions))
      yield* TestClock.adjust("150 minutes")
      assert.deepStrictEqual(yield* moments, [0, 3_600_000, 7_200_000])
    })
  )
})
