import { Option, Schema, Struct } from "effect"
import { ModelFacts } from "./Facts.ts"
import snapshot from "./snapshot.json" with { type: "json" }
import { tagsOf } from "./TagModel.ts"

const Snapshot = Schema.Struct({
  asOf: Schema.String,
  models: Schema.Array(
    Schema.Struct({
      ...Struct.omit(ModelFacts.fields, "tags"),
      seesImages: Schema.Boolean,
      reasons: Schema.Boolean
    })
  )
})

/** The models that are shipped, with list prices in US dollars per million tokens as of its date. */
export const shippedModels: ReadonlyArray<ModelFacts> = Schema.decodeUnknownSync(Snapshot)(snapshot).models.map(
  ({ reasons, seesImages, ...facts }) => ({ ...facts, tags: tagsOf({ ...facts, reasons, seesImages }) })
)

const byId = new Map(shippedModels.map((facts) => [facts.id, facts] as const))

export const shippedModel = (id: string): Option.Option<ModelFacts> => Option.fromNullable(byId.get(id))
