import { Brand, Schema } from "effect"

export const Currency = Schema.Literal("GBP", "USD").annotations({ identifier: "Currency" })
export type Currency = typeof Currency.Type

/** Cents or pence: integers, so that sums are exact. */
export type MinorUnits = number & Brand.Brand<"MinorUnits">
export const MinorUnits = Brand.nominal<MinorUnits>()

export const toMinorUnits = (price: number): MinorUnits => MinorUnits(Math.round(price * 100))
export const toMajorUnits = (minorUnits: MinorUnits): number => minorUnits / 100

/** Whole units; one unit is 0.01 USD of a call. */
export type Units = number & Brand.Brand<"Units">
export const Units = Brand.nominal<Units>()
export const noUnits = Units(0)

/** One credit is one US dollar, with two decimals. */
export type Credits = number & Brand.Brand<"Credits">
export const Credits = Brand.nominal<Credits>()

export const unitsPerCredit = 100

export const convertCreditsToUnits = (credits: Credits): Units => Units(Math.round(credits * unitsPerCredit))
export const convertUnitsToCredits = (units: Units): Credits => Credits(units / unitsPerCredit)
export const convertUnitsToUsd = (units: Units): number => units / unitsPerCredit

/** Millionths of a US dollar; integers. */
export type UsdMicros = number & Brand.Brand<"UsdMicros">
export const UsdMicros = Brand.nominal<UsdMicros>()
export const noUsdMicros = UsdMicros(0)

/** Rounded up. */
export const toUsdMicros = (usd: number): UsdMicros => UsdMicros(Math.ceil(usd * 1_000_000))
export const convertMicrosToUsd = (micros: UsdMicros): number => micros / 1_000_000
