import { readReversal } from "@berth/domain/billing/events/ReversalReader"
import type { ReversalEventType } from "@berth/domain/billing/events/CardEvent"
import { reversedUnits } from "@berth/domain/billing/Reversal"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { Units, MinorUnits } from "@berth/domain/shared/Money"

const read = (type: ReversalEventType, object: object) =>
  Either.getOrThrow(readReversal({ id: "evt_1", type, created: 1, data: { object } }))

describe("reversedUnits", () => {
  it("reversedUnits reverses units in proportion, rounded down, and all for a full refund", () => {
    const purchase = { units: Units(1000), amount: MinorUnits(900) }
    const taken = [0, 1, 450, 899, 900, 2000].map((returned) => reversedUnits(purchase, MinorUnits(returned)))
    assert.deepStrictEqual(taken, [0, 1, 500, 998, 1000, 1000])
    assert.deepStrictEqual(
      [0, 1].map((returned) => reversedUnits({ units: Units(500), amount: MinorUnits(0) }, MinorUnits(returned))),
      [0, 500]
    )
  })

  it("reversedUnits grows with the money, up to the purchased units", () => {
    const count = FastCheck.nat(1_000_000_000)
    const money = count.map((amount) => MinorUnits(amount))
    FastCheck.assert(
      FastCheck.property(
        count.map((units) => Units(units)),
        money,
        money,
        money,
        (units, amount, one, other) => {
          const [less, more] = one < other ? [one, other] : [other, one]
          assert.isAtMost(reversedUnits({ units, amount }, less), reversedUnits({ units, amount }, more))
          assert.isAtMost(reversedUnits({ units, amount }, more), units)
        }
      )
    )
  })
})

describe("readReversal", () => {
  it("readReversal reads the sum of a charge's refunds under the name of its payment", () => {
    const charge = { id: "ch_1", payment_intent: "pi_1", amount: 500, amount_refunded: 200 }
    const expected = { payment: "pi_1", source: "ch_1", amount: 200, version: 200 }
    assert.deepStrictEqual(read("charge.refunded", charge), expected)
    const byInvoice = read("charge.refunded", { ...charge, payment_intent: null, invoice: "in_1" })
    assert.strictEqual(byInvoice.payment, "in_1")
  })

  it("readReversal reads a dispute's money as withdrawn until it is won, and an inquiry's as never withdrawn", () => {
    const amountOf = (type: ReversalEventType, status: string) =>
      read(type, { id: "dp_1", charge: { id: "ch_1" }, payment_intent: null, amount: 500, status }).amount
    for (const status of ["needs_response", "under_review"])
      assert.strictEqual(amountOf("charge.dispute.created", status), 500)
    assert.strictEqual(amountOf("charge.dispute.closed", "lost"), 500)
    for (const status of ["won", "warning_closed", "prevented"])
      assert.strictEqual(amountOf("charge.dispute.closed", status), 0)
    assert.strictEqual(amountOf("charge.dispute.created", "warning_needs_response"), 0)
  })

  it("readReversal rejects an object that is no charge", () => {
    const bad = readReversal({ id: "evt_1", type: "charge.refunded", created: 1, data: { object: { id: 7 } } })
    assert.isTrue(Either.isLeft(bad))
  })
})
