import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Ref, TestClock } from "effect"
import * as PaymentRedemptionRetention from "../../src/gateway/PaymentRedemptionRetention.ts"

describe("OldPayments", () => {
  it.scoped("forgets them at the start and every hour", () =>
    Effect.gen(function* () {
      const times = yield* Ref.make(0)
      const redemptions = Layer.mock(PaymentRedemptions, {
        prune: Ref.updateAndGet(times, (so) => so + 1)
      })
      yield* Layer.build(Layer.provide(PaymentRedemptionRetention.layer, redemptions))
      yield* TestClock.adjust("150 minutes")
      assert.strictEqual(yield* times, 3)
    })
  )
})
