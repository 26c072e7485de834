import type { Model, ProviderName } from "@berth/domain/ai/Model"
import { Option, Schema } from "effect"
import * as Anthropic from "../anthropic-wire/ModelName.ts"
import * as Google from "../google-wire/ModelName.ts"
import type { ModelFacts } from "./Facts.ts"
import { readOpenRouterModel } from "./OpenRouterModel.ts"
import { shippedModel } from "./Snapshot.ts"

const Listed = Schema.Struct({ id: Schema.NonEmptyString, active: Schema.optional(Schema.Boolean) })

const ListedByGoogle = Schema.Struct({
  name: Schema.NonEmptyString,
  supportedGenerationMethods: Schema.optional(Schema.Array(Schema.String))
})

const factsOf = (provider: Exclude<ProviderName, "sandbox">, entry: unknown): Option.Option<ModelFacts> => {
  switch (provider) {
    case "openrouter":
      return readOpenRouterModel(entry)
    case "google":
      return Schema.decodeUnknownOption(ListedByGoogle)(entry).pipe(
        Option.filter(({ supportedGenerationMethods: can }) => can?.includes("generateContent") ?? true),
        Option.flatMap(({ name }) => shippedModel(Google.catalogueId(name)))
      )
    case "anthropic":
      return Schema.decodeUnknownOption(Listed)(entry).pipe(
        Option.flatMap(({ id }) => shippedModel(Anthropic.catalogueId(id)))
      )
    case "openai":
    case "groq":
      return Schema.decodeUnknownOption(Listed)(entry).pipe(
        Option.filter(({ active }) => active !== false),
        Option.flatMap(({ id }) => shippedModel(`${provider}/${id}`))
      )
  }
}

/**
 * The model of an entry in a provider's own list. All but OpenRouter list names without prices, so only those whose
 * price is known here are told of: what a call costs must not be guessed.
 */
export const readListed = (provider: Exclude<ProviderName, "sandbox">, entry: unknown): Option.Option<Model> =>
  Option.map(factsOf(provider, entry), (known) => ({ ...known, provider, available: true }))
