import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import * as PostgresPaymentRedemptions from "@berth/infra/postgres/PaymentRedemptions"
import * as Postgres from "@berth/infra/postgres/Postgres"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Ref } from "effect"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import * as InMemoryNetwork from "../support/payments/InMemoryNetwork.ts"
import { call, draft, inAWord, machinePayments, payingTransfer, plain } from "../support/payments/PaidCalls.ts"
import * as TestSecrets from "../support/TestSecrets.ts"

/** Three processes, each with connections of its own, on one database and one chain. */
const processes = Effect.gen(function* () {
  const url = yield* migratedDatabase
  const network = yield* InMemoryNetwork.make
  const process = Effect.gen(function* () {
    const storage = PostgresPaymentRedemptions.layer.pipe(
      Layer.provide(Layer.merge(Postgres.layer({ url, maxConnections: 5, applicationName: "test" }), TestSecrets.layer))
    )
    const redemptions = Context.get(yield* Layer.build(storage), PaymentRedemptions)
    return yield* machinePayments({ network, redemptions })
  })
  const [first, ...others] = [yield* process, yield* process, yield* process]
  return { network, first, all: [first, ...others] }
})

/** Fifty of them at once, each to another process than the one before. */
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
    it.scopedLive(`with the same credential by ${name}, one is answered`, () =>
      Effect.gen(function* () {
        const { all, first, network } = yield* processes
        const target = yield* first.challenge(call)
        const raw = yield* network.sign([payingTransfer(target, memo)])
        if (name === "a hash") yield* network.chain.broadcast(raw)
        const proof = name === "a hash" ? network.hashOf(raw) : raw
        const answers = yield* Ref.make(0)

        const words = yield* atOnce(all, (payments, n) =>
          Effect.gen(function* () {
            const redeemed = yield* payments.redeem((n % 2 === 0 ? plain : draft)(target, proof), call)
            if (redeemed._tag !== "Paid") return inAWord(redeemed)
            yield* Ref.update(answers, (so) => so + 1)
            // The plugin is at work while the others ask.
            yield* payments.whileKept(redeemed.claim, Effect.sleep("300 millis"))
            return (yield* payments.answered(redeemed.claim)) ? "answered" : "lost"
          })
        )
        assert.strictEqual(yield* answers, 1)
        assert.strictEqual(words.filter((word) => word === "answered").length, 1)
        for (const word of words) assert.include(["answered", "InProgress", "challenge is used"], word)
        for (const payments of all)
          assert.strictEqual(inAWord(yield* payments.redeem(plain(target, proof), call)), "challenge is used")
      })
    )

  it.scopedLive("with one transaction for a challenge each, one is paid for", () =>
    Effect.gen(function* () {
      const { all, first, network } = yield* processes
      const raw = yield* network.sign([payingTransfer(yield* first.challenge(call))])
      const words = yield* atOnce(all, (payments) =>
        Effect.gen(function* () {
          const target = yield* payments.challenge(call)
          return inAWord(yield* payments.redeem(plain(target, raw), call))
        })
      )
      const { Paid, ...rest } = counted(words)
      assert.strictEqual(Paid, 1)
      for (const word of Object.keys(rest)) assert.include(["transaction is used", "memo is missing"], word)
      assert.strictEqual((yield* network.sent).length, 1)
    })
  )

  it.scopedLive("whose work fails each time, each has its turn until one is answered", () =>
    Effect.gen(function* () {
      const { all, first, network } = yield* processes
      const target = yield* first.challenge(call)
      const credential = plain(target, yield* network.sign([payingTransfer(target)]))
      const [atWork, most, failures] = yield* Effect.all([Ref.make(0), Ref.make(0), Ref.make(0)])
      yield* atOnce(all, (payments) =>
        Effect.gen(function* () {
          const redeemed = yield* payments.redeem(credential, call)
          if (redeemed._tag !== "Paid") return
          const now = yield* Ref.updateAndGet(atWork, (so) => so + 1)
          yield* Ref.update(most, (so) => Math.max(so, now))
          yield* Effect.sleep("20 millis")
          yield* Ref.update(atWork, (so) => so - 1)
          yield* Ref.update(failures, (so) => so + 1)
          yield* payments.failed(redeemed.claim)
        })
      )
      assert.strictEqual(yield* most, 1)
      assert.isAtLeast(yield* failures, 1)
      const last = yield* first.redeem(credential, call)
      if (last._tag !== "Paid") return assert.fail(`was ${inAWord(last)}`)
      assert.isTrue(yield* first.answered(last.claim))
      assert.strictEqual((yield* network.sent).length, 1)
    })
  )
})
