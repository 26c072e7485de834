import { Schema } from "effect"

/** Decimal digits with an optional minus sign: no fraction, exponent, other base or space. */
const DecimalInteger = Schema.String.pipe(
  Schema.pattern(/^-?\d+$/, { message: () => "Expected a whole number in decimal digits" }),
  Schema.compose(Schema.NumberFromString)
)

/** A whole number in a query: text in requests, and a number in OpenAPI. */
export const queryInteger = (least: number, most: number) =>
  DecimalInteger.pipe(Schema.between(least, most)).annotations({
    jsonSchema: { type: "integer", minimum: least, maximum: most }
  })

/** A number for pagination: rejects anything but a whole number, and clamps a number out of range. */
export const pageNumber = (options: { readonly least: number; readonly most: number; readonly usual: number }) =>
  Schema.optionalWith(
    Schema.transform(DecimalInteger, Schema.Int, {
      strict: true,
      decode: (requested) => Math.min(options.most, Math.max(options.least, requested)),
      encode: (number) => number
    }).annotations({
      jsonSchema: { type: "integer", minimum: options.least, maximum: options.most, default: options.usual }
    }),
    { default: () => options.usual }
  )

/** For logs and messages; default: 50, maximum: 100. */
export const pageLimit = pageNumber({ least: 1, most: 100, usual: 50 })
export const pageOffset = pageNumber({ least: 0, most: Number.MAX_SAFE_INTEGER, usual: 0 })

export const pageQuery = Schema.Struct({ limit: pageLimit, offset: pageOffset })

/** A page of items, with the number of all items. */
export const pageOf = <Fields extends Schema.Struct.Fields>(items: Fields) =>
  Schema.Struct({ ...items, total: Schema.Int, limit: Schema.Int, offset: Schema.Int })
