import { Effect, Schema } from "effect"
import { VendorAnswerMalformed } from "./VendorErrors.ts"

const Body = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** The entries of a vendor's list of models, which are under `field`. */
export const readModelList =
  (field: "data" | "models") =>
  (body: string): Effect.Effect<ReadonlyArray<unknown>, VendorAnswerMalformed> =>
    Schema.decodeUnknown(Body)(body).pipe(
      Effect.map((list) => list[field]),
      Effect.filterOrFail(Array.isArray),
      Effect.mapError(() => new VendorAnswerMalformed({ reason: "a list of models that cannot be read" }))
    )
