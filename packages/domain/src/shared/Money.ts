import { Schema } from "effect"

/** Currencies of prices. */
export const Currency = Schema.Literal("GBP", "USD").annotations({ identifier: "Currency" })
export type Currency = typeof Currency.Type

/** Cents or pence: integers, so that sums are exact. */
export const MinorUnits = Schema.NonNegativeInt

export const toMinorUnits = (price: number): number => Math.round(price * 100)
export const toMajorUnits = (minorUnits: number): number => minorUnits / 100

/** Millionths of a US dollar. */
export const UsdMicros = Schema.NonNegativeInt.pipe(Schema.brand("UsdMicros"))
export type UsdMicros = typeof UsdMicros.Type
