import { type Model, ProviderName } from "@berth/domain/ai/models/Model"
import { findHomeProvider, listModelProviders, parseModelVendor } from "@berth/domain/ai/models/ModelRoutes"
import type { ModelFacts } from "./ModelFacts.ts"

export interface KnownModels {
  /** OpenRouter's list, or the shipped one. */
  readonly facts: ReadonlyArray<ModelFacts>
  /** What providers run that are in nobody else's list (groq, sandbox), where they have said so. */
  readonly own: ReadonlyMap<ProviderName, ReadonlyArray<Model>>
  /** The ids of what the vendors of shared models say that they run themselves, where they have said so. */
  readonly vendors: ReadonlyMap<ProviderName, ReadonlyArray<string>>
}

/** The providers whose models are nobody else's. */
export const providersWithOwnModels: ReadonlySet<ProviderName> = new Set<ProviderName>(["groq", "sandbox"])

/** The vendors of models that others run too; each may run less than is known of it. */
export const vendorsOfSharedModels: ReadonlySet<ProviderName> = new Set<ProviderName>(["anthropic", "openai", "google"])

/** What vendors run by their own lists. One that names nothing known here says nothing of what is. */
const listsOf = (vendors: KnownModels["vendors"], facts: ReadonlyArray<ModelFacts>) => {
  const known = new Set(facts.map(({ id }) => id))
  return new Map(
    [...vendors].filter(([, ids]) => ids.some((id) => known.has(id))).map(([name, ids]) => [name, new Set(ids)])
  )
}

/** The catalogue: each model once, at the first configured provider that can run it, else at home and not available. */
export const assembleCatalog = (
  { facts, own, vendors }: KnownModels,
  configured: ReadonlySet<ProviderName>
): ReadonlyArray<Model> => {
  const order = ProviderName.literals.filter((name) => configured.has(name))
  const listed = [...own.values()].flat()
  const lists = listsOf(vendors, facts)
  const runs = (name: ProviderName, id: string) => lists.get(name)?.has(id) ?? true
  // What such a provider says of itself is the whole of what it runs.
  const shared = facts.filter(({ id }) => ![...own.keys()].some((name) => name === parseModelVendor(id)))
  const models = new Map<string, Model>()
  for (const model of listed) models.set(model.id, model)
  for (const model of shared) {
    const runner = order.find((name) => listModelProviders(model.id).includes(name) && runs(name, model.id))
    models.set(model.id, { ...model, provider: runner ?? findHomeProvider(model.id), available: runner !== undefined })
  }
  return [...models.values()]
}
