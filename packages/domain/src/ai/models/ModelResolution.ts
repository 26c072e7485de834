import { Either, Option } from "effect"
import { oncePerObject } from "../../shared/ObjectMemo.ts"
import type { Model } from "./Model.ts"
import type { ModelsUnavailable } from "./ModelErrors.ts"
import { parseModelName } from "./ModelRoutes.ts"
import { selectModel } from "./ModelSelection.ts"

/** Vendors and resellers spell a version with a dot or with a dash (opus-4.6, opus-4-6). */
const spelling = (id: string) => id.toLowerCase().replaceAll(".", "-")

/** Clients can prefix the reseller: openrouter/openai/gpt-4o. */
const withoutReseller = (id: string) => id.replace(/^openrouter\/(?=[^/]+\/)/, "")

/** Spellings of a model's id, the closest first. */
const readings: ReadonlyArray<(modelId: string) => string> = [
  (id) => id,
  parseModelName,
  spelling,
  (id) => spelling(parseModelName(id))
]

/** Indexes the models by each spelling; the first available model wins. */
const indexOf = oncePerObject((models: ReadonlyArray<Model>): ReadonlyArray<ReadonlyMap<string, Model>> =>
  readings.map((read) => {
    const byText = new Map<string, Model>()
    for (const model of models) {
      const text = read(model.id)
      const before = byText.get(text)
      if (before === undefined || (!before.available && model.available)) byText.set(text, model)
    }
    return byText
  })
)

/**
 * Finds a model by its id, with or without the vendor, in any spelling. The first available one wins among several
 * vendors.
 */
export const findModel = (models: ReadonlyArray<Model>, requested: string): Option.Option<Model> => {
  const [byId, byName, byAlike, byAlikeName] = indexOf(models)
  const id = withoutReseller(requested.trim())
  const alike = spelling(id)
  return Option.fromNullable(
    byId?.get(requested) ?? byId?.get(id) ?? byName?.get(id) ?? byAlike?.get(alike) ?? byAlikeName?.get(alike)
  )
}

const findServed = (models: ReadonlyArray<Model>, requested: string) =>
  Option.filter(findModel(models, requested), ({ available }) => available)

/** Whether a provider serves the model with an id. */
export const isServed = (models: ReadonlyArray<Model>, requested: string): boolean =>
  Option.isSome(findServed(models, requested))

export interface ModelResolution {
  readonly requested: string
  readonly model: Model
  /** Whether the requested model is unknown or unavailable, and this model replaces it. */
  readonly isFallback: boolean
}

/** Returns the model with an id if available, else the best available general model of `substitutes`. */
export const resolveModel = (
  models: ReadonlyArray<Model>,
  requested: string,
  substitutes: ReadonlyArray<Model> = models
): Either.Either<ModelResolution, ModelsUnavailable> => {
  const named = findServed(models, requested)
  return Option.isSome(named)
    ? Either.right({ requested, model: named.value, isFallback: false })
    : Either.map(selectModel(substitutes, "general"), (model) => ({ requested, model, isFallback: true }))
}
