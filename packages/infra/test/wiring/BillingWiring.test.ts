import { PurchasedItem } from "@berth/domain/billing/events/PurchasedItem"
import { CardEventSecret } from "@berth/domain/billing/events/CardEventInbox"
import * as BillingWiring from "@berth/infra/wiring/BillingWiring"
import { loadSettings } from "@berth/infra/configuration/SettingsLoader"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Credits } from "@berth/domain/shared/Money"

const purchasedAt = (environment: Record<string, string>) =>
  Effect.map(loadSettings(environment), BillingWiring.readPrices)

describe("The settings about card events", () => {
  it.effect("The settings about card events assign an item to each price", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* purchasedAt({}), new Map())
      const purchased = yield* purchasedAt({
        STRIPE_PRICE_SOLO: "price_1",
        STRIPE_PRICE_SCALE: "price_2",
        STRIPE_PRICE_STORAGE: "price_3",
        STRIPE_CREDIT_PRICES: "price_4:5, price_5:12.5"
      })
      assert.deepStrictEqual(
        purchased,
        new Map<string, PurchasedItem>([
          ["price_1", PurchasedItem.Plan({ plan: "solo" })],
          ["price_2", PurchasedItem.Plan({ plan: "scale" })],
          ["price_3", PurchasedItem.Storage()],
          ["price_4", PurchasedItem.Credits({ credits: Credits(5) })],
          ["price_5", PurchasedItem.Credits({ credits: Credits(12.5) })]
        ])
      )
    })
  )

  it.effect("The settings about card events are rejected when a price has no credits", () =>
    Effect.gen(function* () {
      for (const STRIPE_CREDIT_PRICES of [
        "price_1",
        "price_1:",
        "price_1:0",
        "price_1:-5",
        ":5",
        "price_1:5;price_2:6"
      ]) {
        const { faults } = yield* Effect.flip(loadSettings({ STRIPE_CREDIT_PRICES }))
        assert.include(faults.join("\n"), "STRIPE_CREDIT_PRICES", STRIPE_CREDIT_PRICES)
      }
    })
  )

  it.effect("BillingSettings offer plans without payment only in development without a card processor", () =>
    Effect.gen(function* () {
      const settings = yield* loadSettings({})
      const cardProcessor = { ...settings.cardProcessor, secretKey: Option.some(Redacted.make("sk_test_1")) }
      const offers = (changes: Partial<typeof settings>) =>
        BillingWiring.readBillingSettings({ ...settings, ...changes }).offersPlansWithoutPayment
      assert.isTrue(BillingWiring.readBillingSettings({ ...settings, cardProcessor }).hasCardProcessor)
      assert.isFalse(BillingWiring.readBillingSettings(settings).hasCardProcessor)
      assert.deepStrictEqual(
        [offers({}), offers({ cardProcessor }), offers({ environment: "production" })],
        [true, false, false]
      )
    })
  )

  it.scoped("CardEventSecret is STRIPE_WEBHOOK_SECRET with its prefix, and none without the setting", () =>
    Effect.gen(function* () {
      const secretOf = (environment: Record<string, string>) =>
        Effect.gen(function* () {
          const settings = yield* loadSettings(environment)
          return Context.get(yield* Layer.build(BillingWiring.secretFromSettings(settings)), CardEventSecret)
        })
      assert.isTrue(Option.isNone(yield* secretOf({})))
      const secret = Option.getOrThrow(yield* secretOf({ STRIPE_WEBHOOK_SECRET: "whsec_1" }))
      assert.strictEqual(Redacted.value(secret), "whsec_1")
    })
  )
})
