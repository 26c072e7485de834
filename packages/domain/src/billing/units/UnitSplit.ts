import { Either } from "effect"
import { Units } from "../../shared/Money.ts"
import { UnitsExhausted } from "./Reservation.ts"

export interface UnitUsage {
  readonly dailyUnits: Units
  readonly used: Units
  readonly remaining: Units
}

/** Units by source: daily units, or credits at a hundred units each. */
export interface UnitSplit {
  readonly daily: Units
  readonly credit: Units
}

/** Rounds up; NaN exceeds any balance. */
export const roundUpUnits = (units: number): Units =>
  Units(Number.isNaN(units) ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil(units)))

/** Units used today count against the current plan. Never negative, even after a downgrade. */
export const computeUnitUsage = (dailyUnits: Units, units: Units): UnitUsage => {
  const used = Units(Math.min(units, dailyUnits))
  return { dailyUnits, used, remaining: Units(dailyUnits - used) }
}

/** Takes daily units first, then credits; all or nothing. */
export const takeUnits = (left: UnitSplit, units: Units): Either.Either<UnitSplit, UnitsExhausted> => {
  const required = roundUpUnits(units)
  const daily = Units(Math.min(required, left.daily))
  const credit = Units(required - daily)
  return credit <= left.credit
    ? Either.right({ daily, credit })
    : Either.left(
        new UnitsExhausted({
          units: required,
          remaining: Units(left.daily + left.credit),
          awaitsConfirmation: false
        })
      )
}

/** Raises a reservation to `units`, daily units first, as far as `left` allows. Never lowers it. */
export const extendSplit = (reserved: UnitSplit, left: UnitSplit, units: Units): UnitSplit => {
  const lacking = Math.max(0, roundUpUnits(units) - reserved.daily - reserved.credit)
  const daily = Math.min(lacking, left.daily)
  return {
    daily: Units(reserved.daily + daily),
    credit: Units(reserved.credit + Math.min(lacking - daily, left.credit))
  }
}
