import { Schema } from "effect"

/** What Berth sells for. */
export const Currency = Schema.Literal("GBP", "USD").annotations({ identifier: "Currency" })
export type Currency = typeof Currency.Type

/** Cents or pence, as card processors count: whole numbers, so that no sum is ever rounded. */
export const MinorUnits = Schema.NonNegativeInt

export const toMinorUnits = (price: number): number => Math.round(price * 100)
export const toMajorUnits = (minorUnits: number): number => minorUnits / 100

/** Millionths of a US dollar. */
export const UsdMicros = Schema.NonNegativeInt.pipe(Schema.brand("UsdMicros"))
export type UsdMicros = typeof UsdMicros.Type
