import { CreditAdjustments } from "@berth/domain/billing/credits/CreditAdjustments"
import { BillingHistory } from "@berth/domain/billing/history/BillingHistory"
import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { Credits, Units } from "@berth/domain/shared/Money"
import * as PostgresCreditAdjustments from "@berth/infra/postgres/billing/PostgresCreditAdjustments"
import { assert, layer } from "@effect/vitest"
import { Effect, Either, Layer } from "effect"
import { BillingServices, readBalance, readLedger } from "../../../support/billing/BillingServices.ts"
import { insertUser } from "../../../support/Samples.ts"

const Live = Layer.provideMerge(PostgresCreditAdjustments.layer, BillingServices)

layer(Live, { excludeTestServices: true })("CreditAdjustments", (it) => {
  it.effect("CreditAdjustments.adjust moves credits both ways through the ledger and shows them in the history", () =>
    Effect.gen(function* () {
      const { adjust } = yield* CreditAdjustments
      const user = yield* insertUser()
      yield* adjust(user.id, Credits(12.34))
      yield* adjust(user.id, Credits(-2.3))
      assert.strictEqual((yield* readBalance(user)).credits, 10.04)
      const { credits, grants } = yield* readLedger(user)
      assert.deepStrictEqual([credits, grants], [1004, -1004])
      const { entries, total } = yield* (yield* BillingHistory).list(user.id, { limit: 10, offset: 0 })
      assert.strictEqual(total, 2)
      assert.deepStrictEqual(
        entries.map(({ credits: changed, description, kind }) => [kind, description, changed]),
        [
          ["grant", "Credits adjusted by an administrator", -2.3],
          ["grant", "Credits adjusted by an administrator", 12.34]
        ]
      )
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )

  it.effect("CreditAdjustments.adjust takes no more than the credits that are not reserved", () =>
    Effect.gen(function* () {
      const { adjust } = yield* CreditAdjustments
      const { reserve } = yield* UnitLedger
      const user = yield* insertUser()
      yield* adjust(user.id, Credits(1))
      // 50 daily units of the free plan and 30 of the credits.
      yield* reserve(user, Units(80), "call")
      const { balance } = yield* Effect.flip(adjust(user.id, Credits(-0.71)))
      assert.strictEqual(balance, 0.7)
      yield* adjust(user.id, Credits(-0.7))
      assert.strictEqual((yield* readBalance(user)).credits, 0)
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )

  it.effect("CreditAdjustments.adjust never overdraws under concurrent deductions", () =>
    Effect.gen(function* () {
      const { adjust } = yield* CreditAdjustments
      const user = yield* insertUser()
      yield* adjust(user.id, Credits(5))
      const outcomes = yield* Effect.replicateEffect(Effect.either(adjust(user.id, Credits(-1))), 9, {
        concurrency: "unbounded"
      })
      assert.strictEqual(outcomes.filter(Either.isRight).length, 5)
      assert.strictEqual((yield* readBalance(user)).credits, 0)
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )
})
