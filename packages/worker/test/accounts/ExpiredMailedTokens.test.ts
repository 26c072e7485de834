import { MailedTokenRepository } from "@berth/domain/accounts/MailedTokenRepository"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Ref } from "effect"
import { sweep } from "../../src/accounts/ExpiredMailedTokens.ts"

describe("expired links", () => {
  it.effect("are forgotten as of now", () =>
    Effect.gen(function* () {
      const asked = yield* Ref.make<ReadonlyArray<DateTime.Utc>>([])
      const tokens = Layer.mock(MailedTokenRepository, {
        removeExpired: (now) =>
          Effect.as(
            Ref.update(asked, (so) => [...so, now]),
            3
          )
      })
      yield* Effect.provide(sweep, tokens)
      assert.deepStrictEqual(yield* asked, [yield* DateTime.now])
    })
  )
})
