import { Effect, Option } from "effect"
import { ProviderName } from "./Model.ts"
import { estimateCost, type TokenCounts } from "./ModelCost.ts"
import { ModelNotFound, ProviderNotFound } from "./ModelErrors.ts"
import { ModelCatalog, ModelProviders } from "./ModelProviders.ts"
import { findModel } from "./ModelResolution.ts"
import { parseTaskType, selectModel } from "./ModelSelection.ts"

const aliases: ReadonlyMap<string, ProviderName> = new Map([["gemini", "google"]])

const isProviderName = (name: string): name is ProviderName => ProviderName.literals.some((known) => known === name)

export const makeModelQueries = Effect.gen(function* () {
  const catalog = yield* ModelCatalog
  const { all: configured } = yield* ModelProviders

  return {
    /** Lists all models, with the number of models by provider. */
    models: Effect.fn("AiLayer.models")(function* () {
      const models = yield* catalog.all
      const providers: { [name in ProviderName]?: number } = {}
      for (const { name } of configured) providers[name] = 0
      for (const { provider } of models) providers[provider] = (providers[provider] ?? 0) + 1
      return { models, providers }
    }),

    /** Lists the models of a provider, by its name or an alias. */
    modelsOf: Effect.fn("AiLayer.modelsOf")(function* (name: string) {
      const provider = aliases.get(name) ?? name
      if (!isProviderName(provider)) return yield* new ProviderNotFound({ provider: name })
      const models = yield* catalog.all
      return { provider, models: models.filter((model) => model.provider === provider) }
    }),

    /** Returns the best available model for a task. */
    select: Effect.fn("AiLayer.select")(function* (text: string | null | undefined) {
      const taskType = parseTaskType(text)
      return { taskType, model: yield* selectModel(yield* catalog.all, taskType) }
    }),

    find: Effect.fn("AiLayer.find")(function* (id: string) {
      const found = Option.filter(findModel(yield* catalog.all, id), ({ available }) => available)
      return yield* Effect.mapError(found, () => new ModelNotFound({ model: id }))
    }),

    /** Returns the cost of a call in US dollars. */
    estimate: Effect.fn("AiLayer.estimate")(function* (request: TokenCounts & { readonly model: string }) {
      const found = findModel(yield* catalog.all, request.model)
      if (Option.isNone(found)) return yield* new ModelNotFound({ model: request.model })
      return { model: found.value, costUsd: yield* estimateCost(found.value, request) }
    })
  }
})
