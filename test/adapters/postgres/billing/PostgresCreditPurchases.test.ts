import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { type CreditBooking, CreditPurchases } from "@berth/domain/billing/credits/CreditPurchases"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { readBalance, BillingServices, readLedger, refundOf } from "../../../support/billing/BillingServices.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { Units, Credits, MinorUnits } from "@berth/domain/shared/Money"
import { sql } from "../../../support/Sql.ts"

const packOf = (userId: UserId, cause: string, changes: Partial<CreditBooking> = {}): CreditBooking => ({
  userId,
  credits: Credits(5),
  cause,
  amount: MinorUnits(500),
  currency: "USD",
  kind: "purchase",
  ...changes
})

layer(BillingServices, { excludeTestServices: true })("CreditPurchases", (it) => {
  it.effect("CreditPurchases books a cause once under concurrent calls, also for different users", () =>
    Effect.gen(function* () {
      const { book } = yield* CreditPurchases
      const [user, other] = [yield* insertUser(), yield* insertUser()]
      const cause = yield* uniqueName("cs")
      const outcomes = yield* Effect.replicateEffect(book(packOf(user.id, cause)), 20, { concurrency: "unbounded" })
      assert.strictEqual(outcomes.filter((outcome) => outcome === "booked").length, 1)
      assert.strictEqual(outcomes.filter((outcome) => outcome === "booked-before").length, 19)
      assert.strictEqual(yield* book(packOf(other.id, cause)), "booked-before")
      assert.deepInclude(yield* readBalance(user), { credits: Credits(5) })
      assert.deepInclude(yield* readBalance(other), { credits: Credits(0) })
      assert.deepInclude(yield* readLedger(user), { purchases: -500, credits: 500, grants: 0 })
    })
  )

  it.effect("CreditPurchases distinguishes purchased and granted credits, and books a period without credits", () =>
    Effect.gen(function* () {
      const { book } = yield* CreditPurchases
      const user = yield* insertUser()
      yield* book(
        packOf(user.id, yield* uniqueName("grant"), { kind: "grant", credits: Credits(0.29), amount: MinorUnits(0) })
      )
      yield* book(
        packOf(user.id, yield* uniqueName("in"), {
          kind: "subscription",
          credits: Credits(0),
          amount: MinorUnits(3900)
        })
      )
      assert.deepInclude(yield* readBalance(user), { credits: Credits(0.29) })
      assert.deepInclude(yield* readLedger(user), { purchases: 0, credits: 29, grants: -29 })
    })
  )

  it.effect("CreditPurchases reverses credits once, and spent ones become a debt", () =>
    Effect.gen(function* () {
      const { book, reverse } = yield* CreditPurchases
      const { reserve, settle } = yield* UnitLedger
      const user = yield* insertUser()
      const cause = yield* uniqueName("cs")
      yield* book(packOf(user.id, cause))
      // The day's fifty units, and two credits.
      const spent = Option.getOrThrow(yield* reserve(user, Units(250), "spent"))
      yield* settle(spent, Units(250))
      const held = Option.getOrThrow(yield* reserve(user, Units(100), "held"))
      const outcomes = yield* Effect.replicateEffect(reverse(refundOf(cause)), 10, { concurrency: "unbounded" })
      assert.strictEqual(outcomes.filter((outcome) => outcome === "reversed").length, 1)
      assert.deepInclude(yield* readBalance(user), { credits: Credits(-3) })

      yield* settle(held, Units(0))
      assert.deepInclude(yield* readBalance(user), { credits: Credits(-2) })
      assert.deepInclude(yield* Effect.flip(reserve(user, Units(1), "more")), { remaining: Units(0) })
      yield* book(packOf(user.id, yield* uniqueName("cs")))
      assert.deepInclude(yield* readBalance(user), { credits: Credits(3) })
      yield* reserve(user, Units(300), "more")
      assert.deepInclude(yield* Effect.flip(reserve(user, Units(1), "yet more")), { remaining: Units(0) })
      assert.deepInclude(yield* readLedger(user), { purchases: -500, credits: 300 })
    })
  )

  it.effect("CreditPurchases reverses in proportion to the refunds, and restores credits of a won dispute", () =>
    Effect.gen(function* () {
      const { book, reverse } = yield* CreditPurchases
      const user = yield* insertUser()
      const cause = yield* uniqueName("pi")
      const credits = Effect.map(readBalance(user), (balance) => balance.credits)
      const dispute = (amount: number, version: number) =>
        reverse({ payment: cause, source: `dp of ${cause}`, amount: MinorUnits(amount), version })
      // 1000 units for 900 cents.
      yield* book(packOf(user.id, cause, { credits: Credits(10), amount: MinorUnits(900) }))
      assert.strictEqual(yield* reverse(refundOf(cause, 100)), "reversed")
      assert.strictEqual(yield* credits, 8.89)
      assert.strictEqual(yield* reverse(refundOf(cause, 100)), "reversed-before")
      yield* reverse(refundOf(cause, 300))
      assert.strictEqual(yield* reverse(refundOf(cause, 200)), "reversed-before")
      assert.strictEqual(yield* credits, 6.67)
      // Refunds and disputes together do not exceed the payment.
      yield* dispute(900, 1)
      assert.strictEqual(yield* credits, 0)
      yield* dispute(0, 2)
      assert.strictEqual(yield* dispute(900, 1), "reversed-before")
      assert.strictEqual(yield* credits, 6.67)
      yield* reverse(refundOf(cause, 900))
      assert.strictEqual(yield* credits, 0)
      assert.deepInclude(yield* readLedger(user), { purchases: 0, credits: 0 })
      assert.deepStrictEqual(yield* sql`select reversed_units::int from users where id = ${user.id}`, [
        { reversedUnits: 1000 }
      ])
    })
  )

  it.effect("CreditPurchases leaves daily units usable during a debt", () =>
    Effect.gen(function* () {
      const { book, reverse } = yield* CreditPurchases
      const { reserve, settle } = yield* UnitLedger
      const user = yield* insertUser()
      const cause = yield* uniqueName("cs")
      yield* book(packOf(user.id, cause))
      const plenty = Option.getOrThrow(yield* reserve(user, Units(60), "plenty"))
      yield* settle(plenty, Units(60))
      yield* reverse(refundOf(cause))
      assert.deepInclude(yield* readBalance(user), { credits: Credits(-0.1) })
      const { findUsage } = yield* UnitLedger
      // A larger plan leaves units of the day.
      assert.deepInclude(yield* findUsage({ ...user, plan: "solo" }), { remaining: Units(550) })
      yield* sql`update users set plan = 'solo' where id = ${user.id}`
      assert.isTrue(Option.isSome(yield* reserve({ ...user, plan: "solo" }, Units(550), "the rest of the day")))
      assert.isTrue(Option.isSome(yield* reserve({ ...user, plan: "solo" }, Units(0), "nothing")))
    })
  )

  it.effect("CreditPurchases has the same result for any order of a purchase and its refund", () =>
    Effect.gen(function* () {
      const { book, reverse } = yield* CreditPurchases
      const user = yield* insertUser()
      const cause = yield* uniqueName("cs")
      assert.strictEqual(yield* reverse(refundOf(cause)), "kept")
      assert.strictEqual(yield* reverse(refundOf(cause)), "kept")
      assert.strictEqual(yield* book(packOf(user.id, cause)), "booked")
      assert.strictEqual(yield* book(packOf(user.id, cause)), "booked-before")
      assert.strictEqual(yield* reverse(refundOf(cause)), "reversed-before")
      assert.deepInclude(yield* readBalance(user), { credits: Credits(0) })
      const causes = yield* Effect.replicateEffect(uniqueName("cs"), 20)
      yield* Effect.forEach(
        causes.flatMap((each) => [reverse(refundOf(each)), book(packOf(user.id, each)), reverse(refundOf(each))]),
        (act) => act,
        { concurrency: "unbounded" }
      )
      assert.deepInclude(yield* readBalance(user), { credits: Credits(0) })
      assert.deepInclude(yield* readLedger(user), { purchases: 0, credits: 0 })
    })
  )

  it.effect("CreditPurchases is rolled back with its transaction, and can be repeated", () =>
    Effect.gen(function* () {
      const { book } = yield* CreditPurchases
      const { run } = yield* Transaction
      const user = yield* insertUser()
      const cause = yield* uniqueName("cs")
      yield* run(Effect.zipRight(book(packOf(user.id, cause)), Effect.fail("later"))).pipe(Effect.flip)
      assert.deepInclude(yield* readBalance(user), { credits: Credits(0) })
      assert.strictEqual(yield* run(book(packOf(user.id, cause))), "booked")
    })
  )

  it.effect("CreditPurchases writes nothing without a user, and rejects invalid amounts", () =>
    Effect.gen(function* () {
      const { book } = yield* CreditPurchases
      const user = yield* insertUser()
      const cause = yield* uniqueName("cs")
      assert.strictEqual(yield* book(packOf(UserId.make("usr_nobody\u0000"), cause)), "unknown-user")
      for (const changes of [
        { credits: Credits(-1) },
        { credits: Credits(Number.NaN) },
        { amount: MinorUnits(0.5) },
        { amount: MinorUnits(-1) }
      ])
        assert.isTrue((yield* Effect.exit(book(packOf(user.id, cause, changes))))._tag === "Failure")
      assert.strictEqual(yield* book(packOf(user.id, cause)), "booked")
    })
  )

  it.effect("CreditPurchases.reverse books the refund of a deleted user's purchase without a user", () =>
    Effect.gen(function* () {
      const { book, reverse } = yield* CreditPurchases
      const { run } = yield* Transaction
      const users = yield* UserRepository
      const [user, again] = [yield* insertUser(), yield* insertUser()]
      const cause = yield* uniqueName("cs")
      yield* book(packOf(user.id, cause))
      yield* run(users.remove(user.id, `fmr of ${cause}`))
      assert.strictEqual(yield* book(packOf(again.id, cause)), "booked-before")
      assert.strictEqual(yield* reverse(refundOf(cause)), "reversed")
      assert.deepStrictEqual(
        yield* sql`
          select account, sum(units)::int as units, count(*)::int as entries from ledger_entries
          where former_user = ${`fmr of ${cause}`} group by 1 order by 1`,
        [
          { account: "credits", units: 0, entries: 2 },
          { account: "purchases", units: 0, entries: 2 }
        ]
      )
    })
  )
})
