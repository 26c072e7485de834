import { Either, Option } from "effect"
import type { Model } from "./Model.ts"
import type { ModelsUnavailable } from "./ModelErrors.ts"
import { parseModelName } from "./ModelRoutes.ts"
import { selectModel } from "./ModelSelection.ts"

/** Vendors and resellers write one version with a dot or with a dash (opus-4.6, opus-4-6). */
const spelling = (id: string) => id.toLowerCase().replaceAll(".", "-")

/** Some write the reseller before the model's id: openrouter/openai/gpt-4o. */
const withoutReseller = (id: string) => id.replace(/^openrouter\/(?=[^/]+\/)/, "")

/** The ways to write a model's id, the nearest to it first. */
const readings: ReadonlyArray<(modelId: string) => string> = [
  (id) => id,
  parseModelName,
  spelling,
  (id) => spelling(parseModelName(id))
]

type Index = ReadonlyArray<ReadonlyMap<string, Model>>

const indexes = new WeakMap<ReadonlyArray<Model>, Index>()

/** The models of a catalogue under each way to write them; of several that are written alike the first available. */
const indexOf = (models: ReadonlyArray<Model>): Index => {
  const known = indexes.get(models)
  if (known !== undefined) return known
  const index = readings.map((read) => {
    const byText = new Map<string, Model>()
    for (const model of models) {
      const text = read(model.id)
      const before = byText.get(text)
      if (before === undefined || (!before.available && model.available)) byText.set(text, model)
    }
    return byText
  })
  indexes.set(models, index)
  return index
}

/**
 * The model of the catalogue that an id names: that very id, or `<vendor>/<id>`, else the same written otherwise.
 * Where several vendors have a model of that name, the first of the catalogue that is available.
 */
export const findModel = (models: ReadonlyArray<Model>, asked: string): Option.Option<Model> => {
  const [byId, byName, byAlike, byAlikeName] = indexOf(models)
  const id = withoutReseller(asked.trim())
  const alike = spelling(id)
  return Option.fromNullable(
    byId?.get(asked) ?? byId?.get(id) ?? byName?.get(id) ?? byAlike?.get(alike) ?? byAlikeName?.get(alike)
  )
}

export interface ModelResolution {
  readonly asked: string
  readonly model: Model
  /** The model that was asked for is not known or not available, and this one answers in its place. */
  readonly isFallback: boolean
}

/**
 * The model that answers for an id: the one it names if that is available, else the best available general model of
 * `substitutes`.
 */
export const resolveModel = (
  models: ReadonlyArray<Model>,
  asked: string,
  substitutes: ReadonlyArray<Model> = models
): Either.Either<ModelResolution, ModelsUnavailable> => {
  const named = Option.filter(findModel(models, asked), (model) => model.available)
  return Option.isSome(named)
    ? Either.right({ asked, model: named.value, isFallback: false })
    : Either.map(selectModel(substitutes, "general"), (model) => ({ asked, model, isFallback: true }))
}
