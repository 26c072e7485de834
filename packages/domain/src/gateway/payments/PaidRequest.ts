/** A machine-paid call as received. */
export interface PaidRequest {
  /** Method and path, `POST /api/v1/gateway`. */
  readonly route: string
  readonly plugin: string
  /** In the token's smallest units, at least 1. */
  readonly amount: bigint
  /** One human-readable line. */
  readonly description: string
  /** Bytes of the body as received. */
  readonly body: Uint8Array
}

const unitsOfDollar = 1_000_000

export const convertTokenUnitsToUsd = (amount: bigint): number => Number(amount) / unitsOfDollar

/** Converts a price in USD to units of a USD token with six decimals, rounded up. */
export const convertUsdToTokenUnits = (usd: number): bigint =>
  // Removes binary rounding errors first; else 0.07 would be more than 70,000 units.
  BigInt(Math.max(1, Math.ceil(Number((usd * unitsOfDollar).toFixed(3)))))
