import { type MinorUnits, noUnits, Units } from "../shared/Money.ts"

/** Returned money of a payment: all refunds of a charge, or one dispute. */
export interface Reversal {
  /** Processor id of the payment, invoice or checkout. */
  readonly payment: string
  /** Id of the charge or dispute. */
  readonly source: string
  /** Total returned by this source; 0 once a dispute is won. */
  readonly amount: MinorUnits
  /** The highest version of a source wins. */
  readonly version: number
}

export interface PurchasedUnits {
  readonly units: Units
  readonly amount: MinorUnits
}

/**
 * Units to reverse for `returned` money: proportional, rounded down; all of them once all money is returned. A purchase
 * without an amount is reversed entirely.
 */
export const reversedUnits = ({ amount, units }: PurchasedUnits, returned: MinorUnits): Units => {
  if (returned <= 0) return noUnits
  if (returned >= amount) return units
  return Units(Number((BigInt(units) * BigInt(returned)) / BigInt(amount)))
}
