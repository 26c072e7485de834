import type { CardEvent } from "@berth/domain/billing/events/CardEvent"
import { assert, describe, it } from "@effect/vitest"
import { makeInMemoryCardRecords } from "../../../../../test/support/billing/InMemoryCardRecords.ts"

const purchased = (kind: "plan" | "storage", created = 1): CardEvent => ({
  id: `evt_purchased_${kind}`,
  type: "checkout.session.completed",
  created,
  data: {
    object: {
      id: `cs_${kind}`,
      payment_status: "paid",
      customer: "cus_1",
      customer_details: { email: "a@example.com" },
      metadata: kind === "plan" ? { kind, plan: "pro" } : { kind }
    }
  }
})
const ended: CardEvent = {
  id: "evt_ended",
  type: "customer.subscription.deleted",
  created: 2,
  data: { object: { id: "sub_1", customer: "cus_1", status: "canceled" } }
}

/** The first user's plan and status after these events in this order. */
const after = (...events: ReadonlyArray<CardEvent>) => {
  const { apply, state } = makeInMemoryCardRecords()
  for (const event of events) apply(event)
  const [{ counting, storage } = { counting: null, storage: false }] = state().users
  return { plan: counting?.plan, status: counting?.status, storage }
}

describe("The subscription that counts", () => {
  it("The effective subscription is that of a checkout without subscription details", () => {
    assert.deepStrictEqual(after(purchased("plan")), { plan: "pro", status: "active", storage: false })
    assert.isTrue(after(purchased("storage")).storage)
  })

  it("The effective subscription ends with an ended subscription of the same payer without details", () => {
    for (const events of [
      [purchased("plan"), ended],
      [ended, purchased("plan")]
    ])
      assert.notStrictEqual(after(...events).status, "active")
    assert.isFalse(after(purchased("storage"), ended).storage)
  })
})
