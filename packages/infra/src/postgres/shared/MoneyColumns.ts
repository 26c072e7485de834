import { Schema } from "effect"

/** A bigint column of units. */
export const UnitsColumn = Schema.NumberFromString.pipe(Schema.brand("Units"))
