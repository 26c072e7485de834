import {
  boundCall,
  boundWholeCall,
  computeCallUnits,
  computeFailedTurnUnits,
  computeTurnUnits,
  findCostLimit,
  findMaximumTurnUnits,
  minimumAnswerTokens,
  unusedTurn
} from "@berth/domain/interaction/turns/TurnPricing"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"
import { Units, UsdMicros } from "@berth/domain/shared/Money"

const standard = { priceMargin: 1.3, budgetUsd: 0.25 }

const count = (max: number) => FastCheck.nat({ max })
const prices = FastCheck.record({
  priceMargin: FastCheck.double({ min: 1, max: 5, noNaN: true }),
  budgetUsd: FastCheck.double({ min: 0.000001, max: 10, noNaN: true })
})
const used = FastCheck.record({
  ownCalls: count(3),
  platformCalls: count(3),
  openCalls: count(3),
  costMicros: count(300_000).map((micros) => UsdMicros(micros)),
  heldMicros: count(300_000).map((micros) => UsdMicros(micros))
})
const cost = FastCheck.oneof(FastCheck.constant(0), FastCheck.double({ min: 0, max: 100, noNaN: true }))
const call = FastCheck.record({
  promptTokens: count(200_000),
  maxTokens: FastCheck.integer({ min: 1, max: 100_000 }),
  inputCost: cost,
  outputCost: cost
})
const units = count(1_000)

describe("TurnPricing", () => {
  it("computeTurnUnits charges at least one unit, more by cost and margin, and at most the budget", () => {
    const price = (micros: number) =>
      computeTurnUnits(standard, { ...unusedTurn, platformCalls: 1, costMicros: UsdMicros(micros) })
    assert.deepStrictEqual([0, 1, 7_692, 7_693, 15_384, 15_385, 1_000_000].map(price), [1, 1, 1, 2, 2, 3, 25])
    assert.strictEqual(computeTurnUnits(standard, unusedTurn), 1)
  })

  it("computeTurnUnits charges nothing when own keys paid for all calls", () => {
    assert.strictEqual(computeTurnUnits(standard, { ...unusedTurn, ownCalls: 2 }), 0)
    assert.strictEqual(computeTurnUnits(standard, { ...unusedTurn, ownCalls: 2, platformCalls: 1 }), 1)
  })

  it("computeFailedTurnUnits charges from the first platform request on", () => {
    assert.strictEqual(computeFailedTurnUnits(standard, unusedTurn), 0)
    assert.strictEqual(computeFailedTurnUnits(standard, { ...unusedTurn, ownCalls: 1 }), 0)
    const platform = {
      ...unusedTurn,
      platformCalls: 1,
      openCalls: 1,
      costMicros: UsdMicros(20_000),
      heldMicros: UsdMicros(100_000)
    }
    assert.strictEqual(computeFailedTurnUnits(standard, platform), 3)
  })

  it.prop("computeTurnUnits grows with the cost", [prices, used, count(100_000)], ([priceList, usage, more]) => {
    const later = { ...usage, costMicros: UsdMicros(usage.costMicros + more) }
    assert.isAtLeast(computeTurnUnits(priceList, later), computeTurnUnits(priceList, usage))
    assert.isAtMost(computeTurnUnits(priceList, later), findMaximumTurnUnits(priceList))
  })

  it.prop(
    "boundCall admits no call whose upper bound exceeds the reserved units or the budget",
    [prices, used, call, units],
    ([priceList, usage, requested, reserved]) => {
      const bounded = boundCall(priceList, usage, requested, Units(reserved))
      if (Option.isNone(bounded)) return
      const { answerMicros, maxTokens, promptMicros } = bounded.value
      assert.isAtMost(maxTokens, requested.maxTokens)
      assert.isAtLeast(maxTokens, Math.min(requested.maxTokens, minimumAnswerTokens))
      if (promptMicros + answerMicros === 0) return
      const total = (usage.costMicros + usage.heldMicros + promptMicros + answerMicros) * priceList.priceMargin
      assert.isAtMost(total, Math.min(reserved * 10_000, priceList.budgetUsd * 1_000_000) + 0.01)
    }
  )

  it.prop(
    "boundCall admits a call in full when the units of computeCallUnits are reserved within the budget",
    [prices, used, call],
    ([priceList, usage, requested]) => {
      const wanted = computeCallUnits(priceList, usage, requested)
      const bounded = boundCall({ ...priceList, budgetUsd: 1_000 }, usage, requested, wanted)
      if (wanted < findMaximumTurnUnits(priceList))
        assert.strictEqual(
          Option.getOrUndefined(Option.map(bounded, ({ maxTokens }) => maxTokens)),
          requested.maxTokens
        )
    }
  )

  it.prop(
    "A call within findCostLimit is not shortened and needs no more units",
    [prices, call],
    ([priceList, requested]) => {
      const whole = boundWholeCall(requested)
      if (whole.promptMicros + whole.answerMicros > findCostLimit(priceList, Units(1))) return
      assert.deepStrictEqual(boundCall(priceList, unusedTurn, requested, Units(1)), Option.some(whole))
      assert.strictEqual(computeCallUnits(priceList, unusedTurn, requested), 1)
    }
  )

  it.prop(
    "boundCall admits a free call whatever the balance",
    [prices, used, call],
    ([priceList, usage, requested]) => {
      const free = { ...requested, inputCost: 0, outputCost: 0 }
      assert.isTrue(Option.isSome(boundCall(priceList, usage, free, Units(0))))
    }
  )
})
