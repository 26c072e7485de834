import { Model } from "@berth/domain/ai/models/Model"
import { Schema, Struct } from "effect"

/** What is true of a model whoever runs it. */
export const ModelFacts = Schema.Struct(Struct.omit(Model.fields, "provider", "available"))
export type ModelFacts = typeof ModelFacts.Type
