import { type Model, ProviderName } from "@berth/domain/ai/models/Model"
import { findHomeProvider, listModelProviders, parseModelVendor } from "@berth/domain/ai/models/ModelRoutes"
import type { ModelFacts } from "./OpenRouterModel.ts"

export interface KnownModels {
  /** OpenRouter's list, or the shipped one. */
  readonly facts: ReadonlyArray<ModelFacts>
  /** Models of providers that no other list contains (groq, sandbox), if listed. */
  readonly own: ReadonlyMap<ProviderName, ReadonlyArray<Model>>
  /** Model ids in the lists of vendors whose models other providers run too, if listed. */
  readonly vendors: ReadonlyMap<ProviderName, ReadonlyArray<string>>
}

export const providersWithOwnModels: ReadonlySet<ProviderName> = new Set<ProviderName>(["groq", "sandbox"])

export const vendorsOfSharedModels: ReadonlySet<ProviderName> = new Set<ProviderName>(["anthropic", "openai", "google"])

/** Lists of vendors. A list without any known model is ignored. */
const listsOf = (vendors: KnownModels["vendors"], facts: ReadonlyArray<ModelFacts>) => {
  const known = new Set(facts.map(({ id }) => id))
  return new Map(
    [...vendors].filter(([, ids]) => ids.some((id) => known.has(id))).map(([name, ids]) => [name, new Set(ids)])
  )
}

/**
 * Assembles each model once: at the first configured provider that runs it, else unavailable at its nominal provider.
 */
export const assembleCatalog = (
  { facts, own, vendors }: KnownModels,
  configured: ReadonlySet<ProviderName>
): ReadonlyArray<Model> => {
  const order = ProviderName.literals.filter((name) => configured.has(name))
  const listed = [...own.values()].flat()
  const lists = listsOf(vendors, facts)
  const runs = (name: ProviderName, id: string) => lists.get(name)?.has(id) ?? true
  // The list of such a provider is complete.
  const shared = facts.filter(({ id }) => ![...own.keys()].some((name) => name === parseModelVendor(id)))
  const models = new Map<string, Model>()
  for (const model of listed) models.set(model.id, model)
  for (const model of shared) {
    const runner = order.find((name) => listModelProviders(model.id).includes(name) && runs(name, model.id))
    models.set(model.id, { ...model, provider: runner ?? findHomeProvider(model.id), available: runner !== undefined })
  }
  return [...models.values()]
}
