import { Either, Option } from "effect"
import type { Model } from "./Model.ts"
import type { NoModelsAvailable } from "./ModelErrors.ts"
import { nameOf } from "./ModelRoutes.ts"
import { selectModel } from "./SelectModel.ts"

/** Vendors and resellers write one version with a dot or with a dash (opus-4.6, opus-4-6). */
const spelling = (id: string) => id.toLowerCase().replaceAll(".", "-")

/** Some write the reseller before the model's id: openrouter/openai/gpt-4o. */
const withoutReseller = (id: string) => id.replace(/^openrouter\/(?=[^/]+\/)/, "")

/**
 * The model of the catalogue that an id names: that very id, or `<vendor>/<id>`, else the same written otherwise.
 * Where several vendors have a model of that name, the first of the catalogue that is available.
 */
export const findModel = (models: ReadonlyArray<Model>, asked: string): Option.Option<Model> => {
  const id = withoutReseller(asked.trim())
  const alike = spelling(id)
  const readings: ReadonlyArray<(model: Model) => boolean> = [
    (model) => model.id === asked,
    (model) => model.id === id,
    (model) => nameOf(model.id) === id,
    (model) => spelling(model.id) === alike,
    (model) => spelling(nameOf(model.id)) === alike
  ]
  for (const reading of readings) {
    const found = models.filter(reading)
    const first = found.find((model) => model.available) ?? found[0]
    if (first !== undefined) return Option.some(first)
  }
  return Option.none()
}

export interface Resolution {
  readonly asked: string
  readonly model: Model
  /** The model that was asked for is not known or not available, and this one answers in its place. */
  readonly fellBack: boolean
}

/** The model that answers for an id: the one it names if that is available, else the best available general model. */
export const resolveModel = (
  models: ReadonlyArray<Model>,
  asked: string
): Either.Either<Resolution, NoModelsAvailable> => {
  const named = Option.filter(findModel(models, asked), (model) => model.available)
  return Option.isSome(named)
    ? Either.right({ asked, model: named.value, fellBack: false })
    : Either.map(selectModel(models, "general"), (model) => ({ asked, model, fellBack: true }))
}
