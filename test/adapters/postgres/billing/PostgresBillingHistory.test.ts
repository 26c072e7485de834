import { CreditGrants } from "@berth/domain/accounts/referrals/CreditGrants"
import { BillingHistory } from "@berth/domain/billing/history/BillingHistory"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { CreditPurchases } from "@berth/domain/billing/credits/CreditPurchases"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Option, TestClock, TestContext } from "effect"
import { BillingServices, refundOf } from "../../../support/billing/BillingServices.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { Units, Credits, MinorUnits } from "@berth/domain/shared/Money"

layer(BillingServices, { excludeTestServices: true })("BillingHistory", (it) => {
  it.effect("BillingHistory lists every change of units, credits and money, newest first", () =>
    Effect.gen(function* () {
      const { list } = yield* BillingHistory
      const { release, reserve, settle } = yield* UnitLedger
      const { book, reverse } = yield* CreditPurchases
      const { grant } = yield* CreditGrants
      const [user, other] = [yield* insertUser(), yield* insertUser()]
      const paid = { userId: user.id, currency: "USD" as const }
      const pack = yield* uniqueName("cs")
      const steps = [
        grant(user.id, Credits(1)),
        book({ ...paid, credits: Credits(5), cause: pack, amount: MinorUnits(500), kind: "purchase" }),
        Effect.flatMap(reserve(user, Units(70), "msg_1"), (id) => settle(Option.getOrThrow(id), Units(60))),
        // None of these is charged.
        Effect.flatMap(reserve(user, Units(1), "msg_2"), (id) => release(Option.getOrThrow(id))),
        Effect.flatMap(reserve(user, Units(1), "msg_3"), (id) => settle(Option.getOrThrow(id), Units(0))),
        reserve(user, Units(1), "msg_4"),
        reverse(refundOf(yield* uniqueName("cs"))),
        book({
          ...paid,
          credits: Credits(0),
          cause: yield* uniqueName("in"),
          amount: MinorUnits(3900),
          currency: "GBP",
          kind: "subscription",
          description: "50 GB of storage, a month"
        }),
        reverse(refundOf(pack)),
        grant(other.id, Credits(1))
      ]
      for (const step of steps) yield* Effect.zipRight(TestClock.adjust("1 second"), step)

      const { entries, total } = yield* list(user.id, { limit: 10, offset: 0 })
      assert.strictEqual(total, 5)
      assert.deepStrictEqual(
        entries.map(({ createdAt, id, ...entry }) => ({
          ...entry,
          id: id.slice(0, 3),
          second: DateTime.toEpochMillis(createdAt) / 1000
        })),
        [
          {
            id: "rfd",
            kind: "refund",
            description: "5 credits purchased",
            units: Units(0),
            credits: Credits(-5),
            amount: -5,
            currency: "USD",
            second: 9
          },
          {
            id: "pur",
            kind: "subscription",
            description: "50 GB of storage, a month",
            units: Units(0),
            credits: Credits(0),
            amount: 39,
            currency: "GBP",
            second: 8
          },
          {
            id: "rsv",
            kind: "usage",
            description: "A message to an agent",
            units: Units(60),
            credits: Credits(-0.1),
            amount: null,
            currency: null,
            second: 3
          },
          {
            id: "pur",
            kind: "purchase",
            description: "5 credits purchased",
            units: Units(0),
            credits: Credits(5),
            amount: 5,
            currency: "USD",
            second: 2
          },
          {
            id: "led",
            kind: "grant",
            description: "Credits granted",
            units: Units(0),
            credits: Credits(1),
            amount: null,
            currency: null,
            second: 1
          }
        ]
      )
      assert.strictEqual(new Set(entries.map(({ id }) => id)).size, 5)
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("BillingHistory pages without gaps or repetitions, also for entries of one moment", () =>
    Effect.gen(function* () {
      const { list } = yield* BillingHistory
      const { reserve, settle } = yield* UnitLedger
      const { book } = yield* CreditPurchases
      const user = yield* insertUser()
      for (let n = 0; n < 9; n++) {
        const id = Option.getOrThrow(yield* reserve(user, Units(2), `msg_${n}`))
        yield* settle(id, Units(1))
        yield* book({
          userId: user.id,
          credits: Credits(1),
          cause: `${id} ${n}`,
          amount: MinorUnits(100),
          currency: "USD",
          kind: "purchase"
        })
        if (n % 3 === 0) yield* TestClock.adjust("1 minute")
      }
      const all = yield* list(user.id, { limit: 100, offset: 0 })
      assert.strictEqual(all.total, 18)
      assert.strictEqual(all.entries.length, 18)
      const pages = yield* Effect.forEach([0, 4, 8, 12, 16, 20], (offset) => list(user.id, { limit: 4, offset }))
      assert.deepStrictEqual(
        pages.flatMap(({ entries }) => entries),
        all.entries
      )
      assert.isTrue(pages.every(({ total }) => total === 18))
      assert.deepStrictEqual(yield* list(UserId.make("usr_\u0000"), { limit: 4, offset: 0 }), { entries: [], total: 0 })
    }).pipe(Effect.provide(TestContext.TestContext))
  )
})
