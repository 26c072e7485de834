import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import * as PostgresPaymentRedemptions from "@berth/infra/postgres/gateway/PostgresPaymentRedemptions"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import * as PaymentChainTest from "@berth/infra/tempo/PaymentChainTest"
import {
  paidRequest,
  paidAnswer,
  redemptionLabel,
  makeMachinePayments,
  makePayingTransfer,
  interfaceCredential
} from "../support/payments/PaymentFixtures.ts"
import * as TestSecrets from "../support/TestSecrets.ts"

/** Three processes with their own connections on one database and one chain. */
const processes = Effect.gen(function* () {
  const url = yield* migratedDatabase
  const network = yield* PaymentChainTest.make
  const process = Effect.gen(function* () {
    const storage = PostgresPaymentRedemptions.layer.pipe(
      Layer.provide(
        Layer.merge(PostgresPool.layer({ url, maxConnections: 5, applicationName: "test" }), TestSecrets.layer)
      )
    )
    const redemptions = Context.get(yield* Layer.build(storage), PaymentRedemptions)
    return yield* makeMachinePayments({ network, redemptions })
  })
  const [first, ...others] = [yield* process, yield* process, yield* process]
  return { network, first, all: [first, ...others] }
})

describe("Of many requests at once, in several processes,", () => {
  it.scopedLive("Repeated requests in other processes wait for the answer of the first, and receive it", () =>
    Effect.gen(function* () {
      const { all, first, network } = yield* processes
      const target = yield* first.challenge(paidRequest)
      const credential = interfaceCredential(target, yield* network.sign([makePayingTransfer(target)]))
      const paid = yield* first.redeem(credential, paidRequest)
      if (paid._tag !== "Paid") return assert.fail(redemptionLabel(paid))
      assert.strictEqual(redemptionLabel(yield* first.redeemWithin(credential, paidRequest, "10 millis")), "InProgress")
      const repeats = yield* Effect.forEach(all, (payments) =>
        Effect.fork(payments.redeemWithin(credential, paidRequest, "20 seconds"))
      )
      assert.isTrue(yield* first.complete(paid.claim, paidAnswer))
      for (const repeat of repeats) {
        const redeemed = yield* Fiber.join(repeat)
        assert.strictEqual(redemptionLabel(redeemed), "Answered")
      }
    })
  )
})
