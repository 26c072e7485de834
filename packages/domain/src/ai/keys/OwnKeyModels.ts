import { oncePerObject } from "../../shared/ObjectMemo.ts"
import type { Model, ProviderName } from "../models/Model.ts"
import { listModelProviders } from "../models/ModelRoutes.ts"

const catalogsOf = oncePerObject((_: ReadonlyArray<Model>) => new Map<string, ReadonlyArray<Model>>())

const runWith = (models: ReadonlyArray<Model>, own: ReadonlySet<ProviderName>): ReadonlyArray<Model> =>
  models.map((model) => {
    const provider = listModelProviders(model.id).find((name) => own.has(name))
    return provider === undefined ? model : { ...model, provider, available: true }
  })

/** Returns the catalog with the models that own keys run, at their providers. Memoized by catalog and providers. */
export const applyOwnKeys = (models: ReadonlyArray<Model>, own: ReadonlySet<ProviderName>): ReadonlyArray<Model> => {
  if (own.size === 0) return models
  const known = catalogsOf(models)
  const key = [...own].sort().join(" ")
  const assembled = known.get(key) ?? runWith(models, own)
  known.set(key, assembled)
  return assembled
}

/** Returns the models that own keys run; all models if there are none. */
export const preferOwnKeyModels = (
  models: ReadonlyArray<Model>,
  own: ReadonlySet<ProviderName>
): ReadonlyArray<Model> => {
  const run = own.size === 0 ? models : models.filter(({ available, provider }) => available && own.has(provider))
  return run.length === 0 ? models : run
}
