import { extendSplit, takeUnits, computeUnitUsage, roundUpUnits } from "@berth/domain/billing/units/UnitSplit"
import { convertUnitsToCredits, convertCreditsToUnits, Units } from "@berth/domain/shared/Money"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const amount = FastCheck.nat(10_000).map((units) => Units(units))
const split = FastCheck.record({ daily: amount, credit: amount })
const total = (of: { readonly daily: number; readonly credit: number }) => of.daily + of.credit

describe("UnitSplit", () => {
  it.prop("UnitSplit reserves all or nothing, daily units first", [split, amount], ([left, units]) => {
    const taken = takeUnits(left, units)
    if (units > total(left)) {
      assert.deepInclude(Either.getOrThrow(Either.flip(taken)), { units, remaining: Units(total(left)) })
    } else {
      const { credit, daily } = Either.getOrThrow(taken)
      assert.strictEqual(daily + credit, units)
      assert.isAtMost(daily, left.daily)
      assert.isAtMost(credit, left.credit)
      if (credit > 0) assert.strictEqual(daily, left.daily)
    }
  })

  it.prop(
    "extendSplit adds what is lacking, daily units first, as far as the balance reaches, and takes nothing away",
    [split, split, amount],
    ([reserved, left, units]) => {
      const extended = extendSplit(reserved, left, units)
      const added = {
        daily: Units(extended.daily - reserved.daily),
        credit: Units(extended.credit - reserved.credit)
      }
      assert.strictEqual(total(extended), Math.max(total(reserved), Math.min(units, total(reserved) + total(left))))
      assert.isAtLeast(Math.min(added.daily, added.credit), 0)
      assert.isAtMost(added.daily, left.daily)
      assert.isAtMost(added.credit, left.credit)
      if (added.credit > 0) assert.strictEqual(added.daily, left.daily)
      assert.deepStrictEqual(
        extendSplit(
          extended,
          { daily: Units(left.daily - added.daily), credit: Units(left.credit - added.credit) },
          Units(total(extended))
        ),
        extended
      )
    }
  )

  it.prop(
    "UnitSplit keeps used and remaining together the day's units, also on a smaller plan",
    [amount, amount],
    ([day, units]) => {
      const { dailyUnits, remaining, used } = computeUnitUsage(Units(day), Units(units))
      assert.strictEqual(used + remaining, day)
      assert.strictEqual(dailyUnits, day)
      assert.isAtLeast(remaining, 0)
    }
  )

  it.prop("UnitSplit converts units into credits and back without loss", [FastCheck.maxSafeNat()], ([units]) => {
    const few = units % 1_000_000_000_000
    assert.strictEqual(convertCreditsToUnits(convertUnitsToCredits(Units(few))), few)
  })

  it("UnitSplit rounds units up, and treats an invalid number as more than the balance", () => {
    assert.deepStrictEqual([0.01, 1, 1.2, 0, -3].map(roundUpUnits), [1, 1, 2, 0, 0])
    assert.isTrue(Either.isLeft(takeUnits({ daily: Units(10), credit: Units(10) }, Units(Number.NaN))))
  })
})
