import { MailedTokenRepository } from "@berth/domain/accounts/mailed-tokens/MailedTokenRepository"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Ref, TestClock } from "effect"
import * as MailedTokenRetention from "../../src/accounts/MailedTokenRetention.ts"

describe("expired links", () => {
  it.scoped("are forgotten as of now", () =>
    Effect.gen(function* () {
      const asked = yield* Ref.make<ReadonlyArray<DateTime.Utc>>([])
      const tokens = Layer.mock(MailedTokenRepository, {
        removeExpired: (now) =>
          Effect.as(
            Ref.update(asked, (so) => [...so, now]),
            3
          )
      })
      yield* Layer.build(Layer.provide(MailedTokenRetention.layer, tokens))
      yield* TestClock.adjust("0 seconds")
      assert.deepStrictEqual(yield* asked, [yield* DateTime.now])
    })
  )
})
