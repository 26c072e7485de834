import {
  convertCreditsToUnits,
  convertUnitsToCredits,
  Credits,
  MinorUnits,
  Units,
  convertMicrosToUsd,
  UsdMicros
} from "@berth/domain/shared/Money"
import { assert, describe, it } from "@effect/vitest"

describe("Money", () => {
  it("Money accepts no amount of another kind", () => {
    assert.strictEqual(convertCreditsToUnits(Credits(0.29)), 29)
    assert.strictEqual(convertUnitsToCredits(Units(29)), 0.29)
    // @ts-expect-error Units are not credits.
    convertCreditsToUnits(Units(29))
    // @ts-expect-error Minor units of a currency are not units.
    convertUnitsToCredits(MinorUnits(29))
    assert.strictEqual(convertMicrosToUsd(UsdMicros(20_000)), 0.02)
    // @ts-expect-error Units are not micros of a US dollar.
    convertMicrosToUsd(Units(29))
    // @ts-expect-error A plain number has no kind.
    convertUnitsToCredits(29)
  })
})
