import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import * as PostgresPaymentRedemptions from "@berth/infra/postgres/gateway/PostgresPaymentRedemptions"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import {
  paidRequest,
  paidAnswer,
  redemptionLabel,
  makeMachinePayments,
  makePayingTransfer,
  interfaceCredential
} from "../support/payments/PaymentFixtures.ts"
import { startTempoNetwork } from "../fakes/payments/TempoNetwork.ts"
import * as TestSecrets from "../support/TestSecrets.ts"
import { compileProgram, readFirstLine, killProcess, startProgram } from "../support/processes/ChildProcess.ts"

describe("A process that is killed", () => {
  for (const [when, word] of [
    ["when it has sent the payment and written nothing down", "sent"],
    ["when it was paid and has not answered", "Paid"]
  ] as const)
    it.scopedLive(
      `${when} leaves the call to the next attempt without a second payment`,
      () =>
        Effect.gen(function* () {
          const url = yield* migratedDatabase
          const network = yield* startTempoNetwork
          const storage = PostgresPaymentRedemptions.layer.pipe(
            Layer.provideMerge(
              Layer.merge(PostgresPool.layer({ url, maxConnections: 5, applicationName: "test" }), TestSecrets.layer)
            )
          )
          const context = yield* Layer.build(storage)
          const payments = yield* makeMachinePayments({
            network,
            redemptions: Context.get(context, PaymentRedemptions)
          })

          const program = yield* compileProgram("PaymentRedeemer.ts")
          const target = yield* payments.challenge(paidRequest)
          const { hash, raw } = yield* network.chain.decode(yield* network.sign([makePayingTransfer(target)]))
          const credential = interfaceCredential(target, raw)
          const payee = yield* startProgram(program, {
            DATABASE_URL: Redacted.value(url),
            RPC_URL: network.url,
            TOKEN: network.token,
            CREDENTIAL: credential.join(""),
            STOP: word
          })
          assert.strictEqual(yield* readFirstLine(payee), word)
          yield* killProcess(payee)
          assert.strictEqual(yield* network.received, paidRequest.amount)

          // The database's clock cannot be set: the lease is changed instead, first open, then expired.
          const sql = Context.get(context, SqlClient)
          yield* sql`update payment_redemptions set lease_until = now() + interval '1 hour'`
          assert.strictEqual(redemptionLabel(yield* payments.redeem(credential, paidRequest)), "InProgress")
          yield* sql`update payment_redemptions set lease_until = now()`

          const redeemed = yield* payments.redeem(credential, paidRequest)
          if (redeemed._tag !== "Paid") return assert.fail(`was ${redemptionLabel(redeemed)}`)
          assert.strictEqual(redeemed.receipt.transactionHash, hash)
          assert.isTrue(yield* payments.complete(redeemed.claim, paidAnswer))
          assert.strictEqual(redemptionLabel(yield* payments.redeem(credential, paidRequest)), "Answered")
          assert.strictEqual(yield* network.received, paidRequest.amount)
        }),
      120_000
    )
})
