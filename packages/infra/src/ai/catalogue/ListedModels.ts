import type { Model, ProviderName } from "@berth/domain/ai/Model"
import { Option, Schema } from "effect"
import * as Anthropic from "../anthropic-wire/ModelName.ts"
import * as Google from "../google-wire/ModelName.ts"
import * as OpenAi from "../openai-wire/CompletionRequest.ts"
import { readOpenRouterModel } from "./OpenRouterModel.ts"
import { shippedModel } from "./Snapshot.ts"

type Vendor = Exclude<ProviderName, "sandbox">

const Listed = Schema.Struct({ id: Schema.NonEmptyString, active: Schema.optional(Schema.Boolean) })

const ListedByGoogle = Schema.Struct({
  name: Schema.NonEmptyString,
  supportedGenerationMethods: Schema.optional(Schema.Array(Schema.String))
})

const asListed = Schema.decodeUnknownOption(Listed)
const asListedByGoogle = Schema.decodeUnknownOption(ListedByGoogle)

/** The id in the catalogue of an entry in a provider's own list; none of what does not chat, or cannot be read. */
export const listedId = (provider: Vendor, entry: unknown): Option.Option<string> => {
  switch (provider) {
    case "openrouter":
      return Option.map(asListed(entry), ({ id }) => OpenAi.catalogueId(id))
    case "google":
      return asListedByGoogle(entry).pipe(
        Option.filter(({ supportedGenerationMethods: can }) => can?.includes("generateContent") ?? true),
        Option.map(({ name }) => Google.catalogueId(name))
      )
    case "anthropic":
      return Option.map(asListed(entry), ({ id }) => Anthropic.catalogueId(id))
    case "openai":
    case "groq":
      return asListed(entry).pipe(
        Option.filter(({ active }) => active !== false),
        Option.map(({ id }) => `${provider}/${id}`)
      )
  }
}

/**
 * The model of an entry in a provider's own list. All but OpenRouter list names without prices, so only those whose
 * price is known here are told of: what a call costs must not be guessed.
 */
export const readListed = (provider: Vendor, entry: unknown): Option.Option<Model> => {
  const facts =
    provider === "openrouter" ? readOpenRouterModel(entry) : Option.flatMap(listedId(provider, entry), shippedModel)
  return Option.map(facts, (known) => ({ ...known, provider, available: true }))
}
