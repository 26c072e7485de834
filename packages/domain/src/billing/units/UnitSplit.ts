import { Either } from "effect"
import { UnitsExhausted } from "./Reservation.ts"

export interface UnitUsage {
  readonly dailyUnits: number
  readonly used: number
  readonly remaining: number
}

/** Units by where they come from: the plan's daily units, or credits at a hundred units each. */
export interface UnitSplit {
  readonly daily: number
  readonly credit: number
}

export const unitsPerCredit = 100

/** Units of an amount of credits, to the nearest whole unit. */
export const convertCreditsToUnits = (credits: number): number => Math.round(credits * unitsPerCredit)
export const convertUnitsToCredits = (units: number): number => units / unitsPerCredit

/** Started units count whole. What is not a number counts as more than anybody has. */
export const roundUpUnits = (units: number): number =>
  Number.isNaN(units) ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil(units))

/** What is left of the day's units; a plan that became smaller during the day leaves nothing, never less. */
export const computeUnitUsage = (dailyUnits: number, units: number): UnitUsage => {
  const used = Math.min(units, dailyUnits)
  return { dailyUnits, used, remaining: dailyUnits - used }
}

/** Takes `units` of what is left: daily units first, then credits; all of them or none. */
export const takeUnits = (left: UnitSplit, units: number): Either.Either<UnitSplit, UnitsExhausted> => {
  const wanted = roundUpUnits(units)
  const daily = Math.min(wanted, left.daily)
  const credit = wanted - daily
  return credit <= left.credit
    ? Either.right({ daily, credit })
    : Either.left(new UnitsExhausted({ units: wanted, remaining: left.daily + left.credit }))
}

/** What of a reservation is booked when `units` were used, at most all of it, and what goes back. Credits were taken last, so they go back first. */
export const settleUnits = (
  reserved: UnitSplit,
  units: number
): { readonly booked: UnitSplit; readonly returned: UnitSplit } => {
  const used = Math.min(roundUpUnits(units), reserved.daily + reserved.credit)
  const daily = Math.min(used, reserved.daily)
  const booked = { daily, credit: used - daily }
  return { booked, returned: { daily: reserved.daily - booked.daily, credit: reserved.credit - booked.credit } }
}
