import { computeRoom, findExceeded, findRenewal, type Budget } from "@berth/domain/billing/budgets/Budget"
import { AgentId } from "@berth/domain/shared/AgentId"
import { Units } from "@berth/domain/shared/Money"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Option } from "effect"

const at = DateTime.unsafeMake("2028-02-29T23:59:59.999Z")
const budget = (fields: Partial<Budget>): Budget => ({
  agentId: null,
  period: "day",
  units: Units(10),
  usedUnits: Units(4),
  ...fields
})

describe("Budgets", () => {
  it("findRenewal returns the next UTC midnight, and the first of the next month", () => {
    const renewals = (text: string) =>
      (["day", "month"] as const).map((period) => DateTime.formatIso(findRenewal(period, DateTime.unsafeMake(text))))
    assert.deepStrictEqual(renewals("2028-02-29T23:59:59.999Z"), [
      "2028-03-01T00:00:00.000Z",
      "2028-03-01T00:00:00.000Z"
    ])
    assert.deepStrictEqual(renewals("2027-12-31T00:00:00Z"), ["2028-01-01T00:00:00.000Z", "2028-01-01T00:00:00.000Z"])
    assert.deepStrictEqual(renewals("2027-01-30T12:00:00Z"), ["2027-01-31T00:00:00.000Z", "2027-02-01T00:00:00.000Z"])
  })

  it("computeRoom returns the least that is left, and none where a budget was lowered below its use", () => {
    assert.strictEqual(computeRoom([budget({}), budget({ usedUnits: Units(8) })]), 2)
    assert.strictEqual(computeRoom([budget({}), budget({ units: Units(3) })]), 0)
  })

  it("findExceeded accepts units up to the last one that is left", () => {
    assert.isTrue(Option.isNone(findExceeded([budget({})], Units(6), at)))
    assert.isTrue(Option.isNone(findExceeded([], Units(1_000), at)))
    assert.isTrue(Option.isNone(findExceeded([budget({ units: Units(3) })], Units(0), at)))
    assert.deepInclude(Option.getOrThrow(findExceeded([budget({})], Units(7), at)), {
      budget: budget({}),
      requiredUnits: Units(7)
    })
  })

  it("findExceeded names the budget that renews last", () => {
    const month = budget({ agentId: AgentId.make("agt_1"), period: "month" })
    const at = DateTime.unsafeMake("2027-01-30T12:00:00Z")
    const { budget: named, renewsAt } = Option.getOrThrow(findExceeded([budget({}), month], Units(7), at))
    assert.deepStrictEqual(named, month)
    assert.strictEqual(DateTime.formatIso(renewsAt), "2027-02-01T00:00:00.000Z")
  })
})
