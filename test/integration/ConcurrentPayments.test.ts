import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import * as PostgresPaymentRedemptions from "@berth/infra/postgres/gateway/PostgresPaymentRedemptions"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Ref } from "effect"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import * as PaymentChainTest from "@berth/infra/tempo/PaymentChainTest"
import {
  paidRequest,
  paidAnswer,
  draftCredential,
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

/** Runs fifty at once, distributed over the processes. */
const atOnce = <A, B>(all: ReadonlyArray<A>, use: (one: A, n: number) => Effect.Effect<B, unknown>) =>
  Effect.forEach(
    Array.from({ length: 50 }, (_, n) => n),
    (n) => Effect.forEach(all.slice(n % all.length, (n % all.length) + 1), (one) => use(one, n)),
    { concurrency: "unbounded" }
  ).pipe(
    Effect.map((answers) => answers.flat()),
    Effect.orDie
  )

const counted = (words: ReadonlyArray<string>) =>
  Object.fromEntries([...new Set(words)].toSorted().map((word) => [word, words.filter((it) => it === word).length]))

describe("Of many requests at once, in several processes,", () => {
  for (const [name, memo] of [
    ["a transaction", "none"],
    ["a hash", "bound"]
  ] as const)
    it.scopedLive(`One of concurrent requests with the same credential by ${name} is answered`, () =>
      Effect.gen(function* () {
        const { all, first, network } = yield* processes
        const target = yield* first.challenge(paidRequest)
        const raw = yield* network.sign([makePayingTransfer(target, memo)])
        if (name === "a hash") yield* network.chain.broadcast(raw)
        const proof = name === "a hash" ? network.hashOf(raw) : raw
        const answers = yield* Ref.make(0)

        const words = yield* atOnce(all, (payments, n) =>
          Effect.gen(function* () {
            const redeemed = yield* payments.redeem(
              (n % 2 === 0 ? interfaceCredential : draftCredential)(target, proof),
              paidRequest
            )
            if (redeemed._tag !== "Paid") return redemptionLabel(redeemed)
            yield* Ref.update(answers, (current) => current + 1)
            // The plugin runs while the others request.
            yield* payments.whileClaimed(redeemed.claim, Effect.sleep("300 millis"))
            return (yield* payments.complete(redeemed.claim, paidAnswer)) ? "answered" : "lost"
          })
        )
        assert.strictEqual(yield* answers, 1)
        assert.strictEqual(words.filter((word) => word === "answered").length, 1)
        for (const word of words) assert.include(["answered", "InProgress", "Answered"], word)
        for (const payments of all)
          assert.strictEqual(
            redemptionLabel(yield* payments.redeem(interfaceCredential(target, proof), paidRequest)),
            "Answered"
          )
      })
    )

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

  it.scopedLive("One of concurrent challenges is paid by one transaction", () =>
    Effect.gen(function* () {
      const { all, first, network } = yield* processes
      const raw = yield* network.sign([makePayingTransfer(yield* first.challenge(paidRequest))])
      const words = yield* atOnce(all, (payments) =>
        Effect.gen(function* () {
          const target = yield* payments.challenge(paidRequest)
          return redemptionLabel(yield* payments.redeem(interfaceCredential(target, raw), paidRequest))
        })
      )
      const { Paid, ...rest } = counted(words)
      assert.strictEqual(Paid, 1)
      for (const word of Object.keys(rest)) assert.include(["transaction is used", "memo is missing"], word)
      assert.strictEqual((yield* network.broadcastTransactions).length, 1)
    })
  )

  it.scopedLive("Concurrent requests whose work fails run one after another until one is answered", () =>
    Effect.gen(function* () {
      const { all, first, network } = yield* processes
      const target = yield* first.challenge(paidRequest)
      const credential = interfaceCredential(target, yield* network.sign([makePayingTransfer(target)]))
      const [atWork, most, failures] = yield* Effect.all([Ref.make(0), Ref.make(0), Ref.make(0)])
      yield* atOnce(all, (payments) =>
        Effect.gen(function* () {
          const redeemed = yield* payments.redeem(credential, paidRequest)
          if (redeemed._tag !== "Paid") return
          const now = yield* Ref.updateAndGet(atWork, (current) => current + 1)
          yield* Ref.update(most, (current) => Math.max(current, now))
          yield* Effect.sleep("20 millis")
          yield* Ref.update(atWork, (current) => current - 1)
          yield* Ref.update(failures, (current) => current + 1)
          yield* payments.release(redeemed.claim)
        })
      )
      assert.strictEqual(yield* most, 1)
      assert.isAtLeast(yield* failures, 1)
      const last = yield* first.redeem(credential, paidRequest)
      if (last._tag !== "Paid") return assert.fail(`was ${redemptionLabel(last)}`)
      assert.isTrue(yield* first.complete(last.claim, paidAnswer))
      assert.strictEqual((yield* network.broadcastTransactions).length, 1)
    })
  )
})
