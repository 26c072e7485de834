import { CardSubscriptionId, CustomerId } from "@berth/domain/billing/checkout/CardProcessor"
import { decidePurchase, type RunningSubscription } from "@berth/domain/billing/checkout/PurchaseDecision"
import { BillingPlanId, CheckoutPlanId, findPlanPrice, type SoldPlanId } from "@berth/domain/billing/checkout/Purchase"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"

const plans: ReadonlyArray<SoldPlanId> = [...CheckoutPlanId.literals, ...BillingPlanId.literals]
const customerId = CustomerId.make("cus_1")
const id = CardSubscriptionId.make("sub_1")
const running = (changes: Partial<RunningSubscription>): RunningSubscription => ({
  id,
  customerId,
  kind: "plan",
  plan: "starter",
  isPaid: true,
  ...changes
})
const anyPlan = fc.constantFrom(...plans)
const anyRunning = fc.record({
  id: fc.constant(id),
  customerId: fc.constant(customerId),
  kind: fc.constantFrom("plan" as const, "storage" as const, null),
  plan: fc.option(anyPlan),
  isPaid: fc.boolean()
})

describe("The decision of a purchase", () => {
  it("decidePurchase sells no second plan and no change to another currency", () => {
    fc.assert(
      fc.property(anyPlan, fc.array(anyRunning, { maxLength: 4 }), (plan, all) => {
        const decision = decidePurchase({ kind: "plan", plan }, all)
        const runs = all.find(({ kind }) => kind === "plan")
        assert.strictEqual(decision._tag === "Buy", runs === undefined)
        if (decision._tag === "Change") {
          assert.isTrue(runs?.isPaid)
          assert.notStrictEqual(runs?.plan, plan)
          assert.strictEqual(findPlanPrice(runs?.plan ?? plan).currency, findPlanPrice(plan).currency)
        }
      })
    )
  })

  it("decidePurchase redirects to the portal for a current or unpaid plan", () => {
    const tagOf = (plan: SoldPlanId, one: RunningSubscription) => decidePurchase({ kind: "plan", plan }, [one])._tag
    assert.strictEqual(tagOf("starter", running({})), "Manage")
    assert.strictEqual(tagOf("pro", running({ isPaid: false })), "Manage")
    assert.strictEqual(tagOf("pro", running({})), "Change")
    assert.strictEqual(tagOf("solo", running({})), "EndOtherFirst")
    assert.strictEqual(decidePurchase({ kind: "storage" }, [running({ kind: "storage", plan: null })])._tag, "Manage")
    assert.strictEqual(decidePurchase({ kind: "storage" }, [running({})])._tag, "Buy")
  })
})
