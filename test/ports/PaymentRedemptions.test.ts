import { ChallengeId } from "@berth/domain/gateway/payments/Challenge"
import {
  maximumPaidRuns,
  paidAnswerLifetime,
  type Payment,
  PaymentRedemptions,
  redemptionLifetime,
  RedemptionOutcome
} from "@berth/domain/gateway/payments/PaymentRedemptions"
import { leaseDuration } from "@berth/domain/limits/Lease"
import type { IdGenerator } from "@berth/domain/ids/IdGenerator"
import * as PostgresPaymentRedemptions from "@berth/infra/postgres/gateway/PostgresPaymentRedemptions"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Option, TestClock, TestContext } from "effect"
import { randomBytes } from "node:crypto"
import * as MigratedDatabase from "../support/MigratedDatabase.ts"
import * as InMemoryRedemptions from "../fakes/payments/InMemoryPaymentRedemptions.ts"
import { paidAnswer } from "../support/payments/PaymentFixtures.ts"
import { uniqueName } from "../support/Samples.ts"
import * as TestSecrets from "../support/TestSecrets.ts"

/** Advances time for leases and lifetimes. */
class TimePassage extends Context.Tag("@berth/test/TimePassage")<
  TimePassage,
  (time: Duration.DurationInput) => Effect.Effect<void>
>() {}

/** Leases use the database's clock, which tests cannot set. */
const databaseTimePassage = Layer.effect(
  TimePassage,
  Effect.map(SqlClient, (sql) => (time: Duration.DurationInput) => {
    const by = sql`make_interval(secs => ${Duration.toSeconds(time)})`
    return Effect.orDie(
      sql`update payment_redemptions set lease_until = lease_until - ${by}, claimed_at = claimed_at - ${by},
        answered_at = answered_at - ${by}`
    )
  })
)

const postgres: Layer.Layer<PaymentRedemptions | TimePassage | IdGenerator> = Layer.merge(
  PostgresPaymentRedemptions.layer,
  databaseTimePassage
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))
const inMemory: Layer.Layer<PaymentRedemptions | TimePassage | IdGenerator> = Layer.merge(
  InMemoryRedemptions.layer,
  Layer.succeed(TimePassage, (time: Duration.DurationInput) => TestClock.adjust(time))
).pipe(Layer.provideMerge(Layer.merge(TestContext.TestContext, TestSecrets.layer)))

const newPayment = Effect.map(uniqueName("challenge"), (id): Payment => ({
  challengeId: ChallengeId.make(id),
  transactionHash: `0x${randomBytes(32).toString("hex")}`,
  plugin: "generate-text",
  chainId: 42_431,
  currency: `0x20c0${"00".repeat(18)}`,
  recipient: `0x${"ab".repeat(20)}`,
  amount: 2n ** 200n
}))

const claimed = (outcome: RedemptionOutcome) =>
  outcome._tag === "Claimed" ? outcome : assert.fail(`was ${outcome._tag}`)

const passTime = (time: Duration.DurationInput) => Effect.flatMap(TimePassage, (let_) => let_(time))

for (const [name, subject] of [
  ["in memory", inMemory],
  ["in PostgreSQL", postgres]
] as const)
  layer(subject, { excludeTestServices: true })(`PaymentRedemptions ${name}`, (it) => {
    it.effect(`PaymentRedemptions ${name} give a payment to one of concurrent requests`, () =>
      Effect.gen(function* () {
        const redemptions = yield* PaymentRedemptions
        const payment = yield* newPayment
        assert.isTrue(Option.isNone(yield* redemptions.findTransaction(payment.challengeId)))
        const outcomes = yield* Effect.replicateEffect(redemptions.claim(payment), 50, { concurrency: "unbounded" })
        const [first] = outcomes.filter(RedemptionOutcome.$is("Claimed"))
        assert.strictEqual(outcomes.filter(RedemptionOutcome.$is("InProgress")).length, 49)
        if (first === undefined) return assert.fail("nobody has the claim")
        assert.isTrue(Option.isNone(first.settledAt))
        assert.isFalse(yield* redemptions.complete(first.claim, paidAnswer), "answered before it was paid")
        const settledAt = yield* redemptions.settle(first.claim)
        assert.isTrue(Option.isSome(settledAt))
        assert.deepStrictEqual(yield* redemptions.settle(first.claim), settledAt)
        assert.isTrue(yield* redemptions.complete(first.claim, paidAnswer))
        assert.isFalse(yield* redemptions.complete(first.claim, paidAnswer))
        const answered = yield* redemptions.claim(payment)
        assert.deepStrictEqual(
          answered,
          RedemptionOutcome.Answered({ answer: paidAnswer, settledAt: Option.getOrThrow(settledAt) })
        )
        assert.deepStrictEqual(
          yield* redemptions.findTransaction(payment.challengeId),
          Option.some(payment.transactionHash)
        )
      })
    )

    it.effect(`PaymentRedemptions ${name} keep challenge and transaction for each other, answered or not`, () =>
      Effect.gen(function* () {
        const redemptions = yield* PaymentRedemptions
        const [payment, other] = [yield* newPayment, yield* newPayment]
        const look = Effect.gen(function* () {
          const sameChallenge = yield* redemptions.claim({ ...other, challengeId: payment.challengeId })
          const sameTransaction = yield* redemptions.claim({ ...other, transactionHash: payment.transactionHash })
          assert.strictEqual(sameChallenge._tag, "ChallengeUsed")
          assert.strictEqual(sameTransaction._tag, "TransactionUsed")
        })
        const { claim } = claimed(yield* redemptions.claim(payment))
        yield* look
        yield* redemptions.settle(claim)
        yield* look
        yield* redemptions.complete(claim, paidAnswer)
        yield* look
        claimed(yield* redemptions.claim(other))
      })
    )

    it.effect(`PaymentRedemptions ${name} assign one transaction to one challenge, and conversely`, () =>
      Effect.gen(function* () {
        const redemptions = yield* PaymentRedemptions
        const { challengeId, transactionHash } = yield* newPayment
        const others = yield* Effect.replicateEffect(newPayment, 20)
        const race = (payments: ReadonlyArray<Payment>) =>
          Effect.map(Effect.forEach(payments, redemptions.claim, { concurrency: "unbounded" }), (outcomes) =>
            outcomes.map(({ _tag }) => _tag).toSorted()
          )
        const oneAnd = (rest: string) => ["Claimed", ...Array.from({ length: 19 }, () => rest)].toSorted()
        assert.deepStrictEqual(
          yield* race(others.map((payment) => ({ ...payment, transactionHash }))),
          oneAnd("TransactionUsed")
        )
        assert.deepStrictEqual(
          yield* race(others.map((payment) => ({ ...payment, challengeId }))),
          oneAnd("ChallengeUsed")
        )
      })
    )

    it.effect(`PaymentRedemptions ${name} continue after a dead process, and ignore it`, () =>
      Effect.gen(function* () {
        const redemptions = yield* PaymentRedemptions
        const payment = yield* newPayment
        const { claim: dead } = claimed(yield* redemptions.claim(payment))
        const settledAt = yield* redemptions.settle(dead)
        yield* passTime(leaseDuration)
        const next = yield* Effect.replicateEffect(redemptions.claim(payment), 10, { concurrency: "unbounded" })
        const [heir] = next.filter(RedemptionOutcome.$is("Claimed"))
        assert.strictEqual(next.filter(RedemptionOutcome.$is("InProgress")).length, 9)
        if (heir === undefined) return assert.fail("nobody has the claim")
        assert.deepStrictEqual(heir.settledAt, settledAt)
        assert.isFalse(yield* redemptions.renew(dead))
        assert.isTrue(Option.isNone(yield* redemptions.settle(dead)))
        assert.isFalse(yield* redemptions.complete(dead, paidAnswer))
        yield* redemptions.release(dead)
        assert.strictEqual((yield* redemptions.claim(payment))._tag, "InProgress")
        assert.isTrue(yield* redemptions.complete(heir.claim, paidAnswer))
      })
    )

    it.effect(`PaymentRedemptions ${name} leave a payment with a process that renews it, until its release`, () =>
      Effect.gen(function* () {
        const redemptions = yield* PaymentRedemptions
        const payment = yield* newPayment
        const { claim } = claimed(yield* redemptions.claim(payment))
        yield* passTime("10 seconds")
        assert.isTrue(yield* redemptions.renew(claim))
        yield* passTime("10 seconds")
        assert.strictEqual((yield* redemptions.claim(payment))._tag, "InProgress")
        yield* redemptions.release(claim)
        const next = claimed(yield* redemptions.claim(payment))
        assert.isTrue(Option.isNone(next.settledAt))
        assert.notStrictEqual(next.claim.id, claim.id)
      })
    )

    it.effect(`PaymentRedemptions ${name} keep the answer of a payment for 24 hours`, () =>
      Effect.gen(function* () {
        const redemptions = yield* PaymentRedemptions
        const payment = yield* newPayment
        const { claim } = claimed(yield* redemptions.claim(payment))
        yield* redemptions.settle(claim)
        yield* redemptions.complete(claim, paidAnswer)
        yield* passTime(Duration.subtract(paidAnswerLifetime, "1 minute"))
        yield* redemptions.prune
        assert.strictEqual((yield* redemptions.claim(payment))._tag, "Answered")
        yield* passTime("2 minutes")
        assert.strictEqual((yield* redemptions.claim(payment))._tag, "ChallengeUsed")
        yield* redemptions.prune
        assert.strictEqual((yield* redemptions.claim(payment))._tag, "ChallengeUsed")
      })
    )

    it.effect(`PaymentRedemptions ${name} give a payment to three runs at most`, () =>
      Effect.gen(function* () {
        const redemptions = yield* PaymentRedemptions
        const payment = yield* newPayment
        for (let run = 1; run <= maximumPaidRuns; run += 1) {
          const { claim } = claimed(yield* redemptions.claim(payment))
          yield* redemptions.settle(claim)
          assert.isTrue(yield* redemptions.beginRun(claim))
          assert.strictEqual((yield* redemptions.claim(payment))._tag, "InProgress")
          yield* redemptions.release(claim)
        }
        assert.strictEqual((yield* redemptions.claim(payment))._tag, "RunsExhausted")
      })
    )

    it.effect(`PaymentRedemptions ${name} prune expired entries only`, () =>
      Effect.gen(function* () {
        const redemptions = yield* PaymentRedemptions
        const [old, young] = [yield* newPayment, yield* newPayment]
        yield* redemptions.prune
        yield* redemptions.claim(old)
        yield* passTime(redemptionLifetime)
        yield* redemptions.claim(young)
        assert.isAtLeast(yield* redemptions.prune, 1)
        assert.isTrue(Option.isNone(yield* redemptions.findTransaction(old.challengeId)))
        assert.isTrue(Option.isSome(yield* redemptions.findTransaction(young.challengeId)))
      })
    )
  })
