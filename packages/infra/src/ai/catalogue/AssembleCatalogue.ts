import { type Model, ProviderName } from "@berth/domain/ai/Model"
import { homeOf, providersOf, vendorOf } from "@berth/domain/ai/ModelRoutes"
import type { ModelFacts } from "./Facts.ts"

export interface KnownModels {
  /** OpenRouter's list, or the shipped one. */
  readonly facts: ReadonlyArray<ModelFacts>
  /** What providers run that are in nobody else's list (groq, sandbox), where they have said so. */
  readonly own: ReadonlyMap<ProviderName, ReadonlyArray<Model>>
  /** What the vendors of shared models say that they run themselves, where they have said so. */
  readonly vendors: ReadonlyMap<ProviderName, ReadonlyArray<Model>>
}

/** The providers whose models are nobody else's. */
export const providersWithOwnModels: ReadonlySet<ProviderName> = new Set<ProviderName>(["groq", "sandbox"])

/** The vendors of models that others run too; each may run less than is known of it. */
export const vendorsOfSharedModels: ReadonlySet<ProviderName> = new Set<ProviderName>(["anthropic", "openai", "google"])

/** Whether a provider runs a model, by its own list. A list that names nothing known here says nothing of what is. */
const runs = (vendors: KnownModels["vendors"], name: ProviderName, id: string): boolean => {
  const listed = vendors.get(name) ?? []
  return listed.length === 0 || listed.some((model) => model.id === id)
}

/** The catalogue: each model once, at the first configured provider that can run it, else at home and not available. */
export const assembleCatalogue = (
  { facts, own, vendors }: KnownModels,
  configured: ReadonlySet<ProviderName>
): ReadonlyArray<Model> => {
  const order = ProviderName.literals.filter((name) => configured.has(name))
  const listed = [...own.values()].flat()
  // What such a provider says of itself is the whole of what it runs.
  const shared = facts.filter(({ id }) => ![...own.keys()].some((name) => name === vendorOf(id)))
  const models = new Map<string, Model>()
  for (const model of listed) models.set(model.id, model)
  for (const model of shared) {
    const runner = order.find((name) => providersOf(model.id).includes(name) && runs(vendors, name, model.id))
    models.set(model.id, { ...model, provider: runner ?? homeOf(model.id), available: runner !== undefined })
  }
  return [...models.values()]
}
