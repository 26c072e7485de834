import {
  billingPlans,
  checkoutPlans,
  enterpriseAddOns,
  enterpriseSuite
} from "@berth/domain/billing/subscriptions/PlanCatalog"
import { assert, describe, it } from "@effect/vitest"

describe("The catalog of plans", () => {
  it("The catalog of plans has the published prices and units", () => {
    const rows = [...checkoutPlans, ...billingPlans].map(({ currency, dailyUnits, id, price }) => [
      id,
      price,
      currency,
      dailyUnits
    ])
    assert.deepStrictEqual(rows, [
      ["solo", 29, "GBP", 600],
      ["collective", 69, "GBP", 1000],
      ["label", 149, "GBP", 2500],
      ["network", 499, "GBP", 10_000],
      ["starter", 19, "USD", 600],
      ["pro", 39, "USD", 1000],
      ["scale", 79, "USD", 2500]
    ])
    assert.deepStrictEqual(
      enterpriseAddOns.map(({ price }) => price),
      [199, 149, 349, 249, 499, 399]
    )
    assert.strictEqual(enterpriseSuite.price, 4999)
  })
})
