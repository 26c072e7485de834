import { OAuthStateRepository } from "@berth/domain/signin/oauth/OAuthStateRepository"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Ref, TestClock } from "effect"
import * as OAuthStateRetention from "../../src/signin/OAuthStateRetention.ts"

describe("UsedOAuthStates", () => {
  it.scoped("forgets them at the start and every hour", () =>
    Effect.gen(function* () {
      const moments = yield* Ref.make<ReadonlyArray<number>>([])
      const states = Layer.mock(OAuthStateRepository, {
        removeExpired: (now) =>
          Effect.as(
            Ref.update(moments, (so) => [...so, DateTime.toEpochMillis(now)]),
            3
          )
      })
      yield* Layer.build(Layer.provide(OAuthStateRetention.layer, states))
      yield* TestClock.adjust("150 minutes")
      assert.deepStrictEqual(yield* moments, [0, 3_600_000, 7_200_000])
    })
  )
})
