import { Effect, Schema } from "effect"
import { VendorAnswerMalformed } from "./VendorErrors.ts"

/** A field that a vendor may omit or send as null. */
export const optionalNullable = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const ModelList = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** The entries of a vendor's model list, which are in `field`. */
export const readModelList =
  (field: "data" | "models") =>
  (body: string): Effect.Effect<ReadonlyArray<unknown>, VendorAnswerMalformed> =>
    Schema.decodeUnknown(ModelList)(body).pipe(
      Effect.map((list) => list[field]),
      Effect.filterOrFail(Array.isArray),
      Effect.mapError(() => new VendorAnswerMalformed({ reason: "malformed model list" }))
    )
