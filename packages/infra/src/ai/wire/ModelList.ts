import { Effect, Schema } from "effect"
import { AnswerIsNonsense } from "./WireFailure.ts"

const Body = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** The entries of a vendor's list of models, which are under `field`. */
export const entriesIn =
  (field: "data" | "models") =>
  (body: string): Effect.Effect<ReadonlyArray<unknown>, AnswerIsNonsense> =>
    Schema.decodeUnknown(Body)(body).pipe(
      Effect.map((list) => list[field]),
      Effect.filterOrFail(Array.isArray),
      Effect.mapError(() => new AnswerIsNonsense({ reason: "a list of models that cannot be read" }))
    )
