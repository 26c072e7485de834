import { Schema } from "effect"

/** A bigint column of units. */
export const UnitsColumn = Schema.NumberFromString.pipe(Schema.brand("Units"))

/** A bigint column of credits. */
export const CreditsColumn = Schema.NumberFromString.pipe(Schema.brand("Credits"))

/** A bigint column of minor units. */
export const MinorUnitsColumn = Schema.NumberFromString.pipe(Schema.brand("MinorUnits"))

/** A bigint column of millionths of a US dollar. */
export const UsdMicrosColumn = Schema.NumberFromString.pipe(Schema.brand("UsdMicros"))
