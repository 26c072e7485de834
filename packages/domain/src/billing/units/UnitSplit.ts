import { Either } from "effect"
import { UnitsExhausted } from "./Reservation.ts"

export interface UnitUsage {
  readonly dailyUnits: number
  readonly used: number
  readonly remaining: number
}

/** Units by source: daily units, or credits at a hundred units each. */
export interface UnitSplit {
  readonly daily: number
  readonly credit: number
}

/** Rounds up; NaN is more than any balance. */
export const roundUpUnits = (units: number): number =>
  Number.isNaN(units) ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil(units))

/** Units used today count against the current plan; never negative after a downgrade. */
export const computeUnitUsage = (dailyUnits: number, units: number): UnitUsage => {
  const used = Math.min(units, dailyUnits)
  return { dailyUnits, used, remaining: dailyUnits - used }
}

/** Takes daily units first, then credits; all or nothing. */
export const takeUnits = (left: UnitSplit, units: number): Either.Either<UnitSplit, UnitsExhausted> => {
  const wanted = roundUpUnits(units)
  const daily = Math.min(wanted, left.daily)
  const credit = wanted - daily
  return credit <= left.credit
    ? Either.right({ daily, credit })
    : Either.left(new UnitsExhausted({ units: wanted, remaining: left.daily + left.credit }))
}

/** Adds to a reservation until it has `units`, daily units first, as far as `left` reaches. Never takes away. */
export const extendSplit = (reserved: UnitSplit, left: UnitSplit, units: number): UnitSplit => {
  const lacking = Math.max(0, roundUpUnits(units) - reserved.daily - reserved.credit)
  const daily = Math.min(lacking, left.daily)
  return { daily: reserved.daily + daily, credit: reserved.credit + Math.min(lacking - daily, left.credit) }
}

/** Books at most the reserved units and returns the rest. Credits were taken last, so they are returned first. */
export const settleUnits = (
  reserved: UnitSplit,
  units: number
): { readonly booked: UnitSplit; readonly returned: UnitSplit } => {
  const used = Math.min(roundUpUnits(units), reserved.daily + reserved.credit)
  const daily = Math.min(used, reserved.daily)
  const booked = { daily, credit: used - daily }
  return { booked, returned: { daily: reserved.daily - booked.daily, credit: reserved.credit - booked.credit } }
}
