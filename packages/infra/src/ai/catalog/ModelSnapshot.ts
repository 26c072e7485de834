import { Option, Schema, Struct } from "effect"
import { ModelFacts } from "./OpenRouterModel.ts"
import snapshot from "./snapshot.json" with { type: "json" }
import { deriveModelTags } from "./ModelTags.ts"

const ModelSnapshot = Schema.Struct({
  asOf: Schema.String,
  models: Schema.Array(
    Schema.Struct({
      ...Struct.omit(ModelFacts.fields, "tags"),
      seesImages: Schema.Boolean,
      reasons: Schema.Boolean
    })
  )
})

/** Shipped models, with list prices as of the snapshot's date. */
export const shippedModels: ReadonlyArray<ModelFacts> = Schema.decodeUnknownSync(ModelSnapshot)(snapshot).models.map(
  ({ reasons, seesImages, ...facts }) => ({ ...facts, tags: deriveModelTags({ ...facts, reasons, seesImages }) })
)

const byId = new Map(shippedModels.map((facts) => [facts.id, facts] as const))

export const findShippedModel = (id: string): Option.Option<ModelFacts> => Option.fromNullable(byId.get(id))
