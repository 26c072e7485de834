import { CreditPurchases } from "@berth/domain/billing/credits/CreditPurchases"
import { findStorageGigabytes, StorageEntitlements } from "@berth/domain/billing/storage/StorageEntitlements"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { BillingServices, refundOf } from "../../../support/billing/BillingServices.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { Credits, MinorUnits } from "@berth/domain/shared/Money"

layer(BillingServices, { excludeTestServices: true })("StorageEntitlements", (it) => {
  it.effect("StorageEntitlements are ten gigabytes, and fifty with the paid upgrade", () =>
    Effect.gen(function* () {
      const storage = yield* StorageEntitlements
      const [user, other] = [yield* insertUser(), yield* insertUser()]
      const gigabytes = Effect.map(storage.find(user.id), findStorageGigabytes)
      assert.strictEqual(yield* gigabytes, 10)
      yield* storage.set(user.id, "upgraded")
      yield* storage.set(user.id, "upgraded")
      assert.strictEqual(yield* gigabytes, 50)
      assert.strictEqual(yield* storage.find(other.id), "included")
      yield* storage.set(user.id, "included")
      assert.strictEqual(yield* gigabytes, 10)
    })
  )

  it.effect("StorageEntitlements are independent of other purchases and reversals", () =>
    Effect.gen(function* () {
      const storage = yield* StorageEntitlements
      const subscriptions = yield* SubscriptionRepository
      const { book, reverse } = yield* CreditPurchases
      const user = yield* insertUser()
      const cause = yield* uniqueName("cs")
      yield* storage.set(user.id, "upgraded")
      yield* subscriptions.save({ userId: user.id, plan: "pro", status: "active" })
      yield* book({
        userId: user.id,
        credits: Credits(5),
        cause,
        amount: MinorUnits(500),
        currency: "USD",
        kind: "purchase"
      })
      yield* reverse(refundOf(cause))
      yield* subscriptions.save({ userId: user.id, plan: "pro", status: "canceled" })
      assert.strictEqual(yield* storage.find(user.id), "upgraded")
    })
  )

  it.effect("StorageEntitlements are rolled back with their transaction, and not written without a user", () =>
    Effect.gen(function* () {
      const storage = yield* StorageEntitlements
      const { run } = yield* Transaction
      const user = yield* insertUser()
      yield* Effect.flip(run(Effect.zipRight(storage.set(user.id, "upgraded"), Effect.fail("later"))))
      assert.strictEqual(yield* storage.find(user.id), "included")
      const nobody = UserId.make("usr_nobody\u0000")
      yield* storage.set(nobody, "upgraded")
      assert.strictEqual(yield* storage.find(nobody), "included")
    })
  )
})
