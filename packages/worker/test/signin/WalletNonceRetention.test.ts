import { WalletNonceRepository } from "@berth/domain/signin/wallets/WalletNonceRepository"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Ref, TestClock } from "effect"
import * as WalletNonceRetention from "../../src/signin/WalletNonceRetention.ts"

describe("UsedWalletNonces", () => {
  it.scoped("forgets them at the start and every hour", () =>
    Effect.gen(function* () {
      const moments = yield* Ref.make<ReadonlyArray<number>>([])
      const nonces = Layer.mock(WalletNonceRepository, {
        removeExpired: (now) =>
          Effect.as(
            Ref.update(moments, (so) => [...so, DateTime.toEpochMillis(now)]),
            3
          )
      })
      yield* Layer.build(Layer.provide(WalletNonceRetention.layer, nonces))
      yield* TestClock.adjust("150 minutes")
      assert.deepStrictEqual(yield* moments, [0, 3_600_000, 7_200_000])
    })
  )
})
