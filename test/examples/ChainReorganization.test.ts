import { ChainTransaction } from "@berth/domain/gateway/payments/PaymentChain"
import { PaymentChainTest } from "@berth/infra/tempo/PaymentChainTest"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { gatewayCall, payForCall } from "../contract/GatewayPayments.ts"
import * as App from "../support/TestApp.ts"

layer(App.shared, { excludeTestServices: true })("A machine payment", (it) => {
  it.effect("A machine payment is accepted once its transaction is mined again after a reorganization dropped it", () =>
    Effect.gen(function* () {
      const { calls, chain, withBehavior } = yield* PaymentChainTest
      const { authorization, raw } = yield* payForCall()
      const { hash, transfers } = yield* chain.decode(raw)
      // Unknown before the broadcast, then pending, dropped, and mined.
      const { Mined, Pending, Unknown } = ChainTransaction
      const states = [Unknown(), Unknown(), Pending(), Unknown()]
      const response = yield* gatewayCall({ headers: { authorization } }).pipe(
        withBehavior({ find: () => Effect.sync(() => states.shift() ?? Mined({ succeeded: true, transfers })) })
      )
      assert.strictEqual(response.status, 200, response.text)
      assert.lengthOf(states, 0)
      assert.lengthOf(
        (yield* calls).filter(({ input, method }) => method === "broadcast" && input === raw),
        1
      )
      assert.deepInclude(response.body["payment"], { receipt: hash })
    })
  )
})
