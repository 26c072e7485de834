import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import * as PostgresPaymentRedemptions from "@berth/infra/postgres/PaymentRedemptions"
import * as Postgres from "@berth/infra/postgres/Postgres"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { call, inAWord, machinePayments, payingTransfer, plain } from "../support/payments/PaidCalls.ts"
import { tempoNetwork } from "../support/payments/TempoNetwork.ts"
import * as TestSecrets from "../support/TestSecrets.ts"
import { compiled, firstLine, kill, started } from "./ChildProcess.ts"

describe("A process that is killed", () => {
  for (const [when, word] of [
    ["when it has sent the payment and written nothing down", "sent"],
    ["when it was paid and has not answered", "Paid"]
  ] as const)
    it.scopedLive(
      `${when} leaves the call to the next, and nobody pays twice`,
      () =>
        Effect.gen(function* () {
          const url = yield* migratedDatabase
          const network = yield* tempoNetwork
          const storage = PostgresPaymentRedemptions.layer.pipe(
            Layer.provideMerge(
              Layer.merge(Postgres.layer({ url, maxConnections: 5, applicationName: "test" }), TestSecrets.layer)
            )
          )
          const context = yield* Layer.build(storage)
          const payments = yield* machinePayments({ network, redemptions: Context.get(context, PaymentRedemptions) })

          const program = yield* compiled("DyingPayee.ts")
          const target = yield* payments.challenge(call)
          const { hash, raw } = yield* network.chain.read(yield* network.sign([payingTransfer(target)]))
          const credential = plain(target, raw)
          const payee = yield* started(program, {
            DATABASE_URL: Redacted.value(url),
            RPC_URL: network.url,
            TOKEN: network.token,
            CREDENTIAL: credential.join(""),
            STOP: word
          })
          assert.strictEqual(yield* firstLine(payee), word)
          yield* kill(payee)
          assert.strictEqual(yield* network.received, call.amount)

          // The database's clock cannot be set, so the lease is: it has not ended, then it has.
          const sql = Context.get(context, SqlClient)
          yield* sql`update payment_redemptions set lease_until = now() + interval '1 hour'`
          assert.strictEqual(inAWord(yield* payments.redeem(credential, call)), "InProgress")
          yield* sql`update payment_redemptions set lease_until = now()`

          const redeemed = yield* payments.redeem(credential, call)
          if (redeemed._tag !== "Paid") return assert.fail(`was ${inAWord(redeemed)}`)
          assert.strictEqual(redeemed.receipt.reference, hash)
          assert.isTrue(yield* payments.answered(redeemed.claim))
          assert.strictEqual(inAWord(yield* payments.redeem(credential, call)), "challenge is used")
          assert.strictEqual(yield* network.received, call.amount)
        }),
      120_000
    )
})
