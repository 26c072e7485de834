import { Effect, Schema } from "effect"
import { VendorAnswerMalformed } from "./VendorErrors.ts"

/** A field that a vendor can omit or send as null. */
export const optionalNullable = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const ModelList = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** Reads the entries of a vendor's model list in `field`. */
export const readModelList =
  (field: "data" | "models") =>
  (body: string): Effect.Effect<ReadonlyArray<unknown>, VendorAnswerMalformed> =>
    Schema.decodeUnknown(ModelList)(body).pipe(
      Effect.map((list) => list[field]),
      Effect.filterOrFail(Array.isArray),
      Effect.mapError(() => new VendorAnswerMalformed({ reason: "malformed model list" }))
    )
