import { Schema } from "effect"

/** The model that answered, and the provider that ran it. */
export const AnsweringModel = Schema.Struct({
  model: Schema.String.annotations({ description: "Id of the model that answered" }),
  provider: Schema.String.annotations({ description: "The provider that ran it; sandbox for the built-in one" })
})
export type AnsweringModel = typeof AnsweringModel.Type
