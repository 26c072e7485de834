/** A call that is paid for by a machine, as it arrived. */
export interface PaidRequest {
  /** Method and path, `POST /api/v1/gateway`. */
  readonly route: string
  readonly plugin: string
  /** In the token's smallest units, at least 1. */
  readonly amount: bigint
  /** One line for people. */
  readonly description: string
  /** The bytes of the body as they came. */
  readonly body: Uint8Array
}

const unitsOfDollar = 1_000_000

export const convertTokenUnitsToUsd = (amount: bigint): number => Number(amount) / unitsOfDollar

/** A price in USD as units of a token of that currency with six decimals; what is less than a unit costs a unit. */
export const convertUsdToTokenUnits = (usd: number): bigint =>
  // Away from the noise of binary fractions first: 0.07 is a little more than 70,000 units.
  BigInt(Math.max(1, Math.ceil(Number((usd * unitsOfDollar).toFixed(3)))))
