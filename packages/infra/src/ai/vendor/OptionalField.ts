import { Schema } from "effect"

/** A field that vendors leave out or write as null where there is nothing to say. */
export const optionalNullable = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))
