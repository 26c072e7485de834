/** Money of a payment that went back: the refunds of a charge together, or one dispute. */
export interface Reversal {
  /** Any name of the purchase: payment, invoice, checkout. */
  readonly payment: string
  /** The charge or the dispute that tells of it. */
  readonly source: string
  /** In the currency's smallest units, all that is back by this source; 0 once a dispute is won. */
  readonly amount: number
  /** Of two reports by one source the higher version counts. */
  readonly version: number
}

/** Units and money of a purchase. */
export interface PurchasedUnits {
  readonly units: number
  readonly amount: number
}

/**
 * The units to take back when `returned` of a purchase's money went back: in proportion, rounded down to a whole unit, and all of
 * them once all of the money did. A purchase without a known amount is reversed wholly by any return.
 */
export const reversedUnits = ({ amount, units }: PurchasedUnits, returned: number): number => {
  if (returned <= 0) return 0
  if (returned >= amount) return units
  return Number((BigInt(units) * BigInt(returned)) / BigInt(amount))
}
