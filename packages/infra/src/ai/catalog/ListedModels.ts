import type { Model, ProviderName } from "@berth/domain/ai/models/Model"
import { Option, Schema } from "effect"
import * as AnthropicModelName from "../anthropic/AnthropicModelName.ts"
import * as GoogleModelName from "../google/GoogleModelName.ts"
import * as OpenAiCompletionRequest from "../openai/OpenAiCompletionRequest.ts"
import { readOpenRouterModel } from "./OpenRouterModel.ts"
import { findShippedModel } from "./ModelSnapshot.ts"

type Vendor = Exclude<ProviderName, "sandbox">

const Listed = Schema.Struct({ id: Schema.NonEmptyString, active: Schema.optional(Schema.Boolean) })

const ListedByGoogle = Schema.Struct({
  name: Schema.NonEmptyString,
  supportedGenerationMethods: Schema.optional(Schema.Array(Schema.String))
})

const asListed = Schema.decodeUnknownOption(Listed)
const asListedByGoogle = Schema.decodeUnknownOption(ListedByGoogle)

/** The id in the catalogue of an entry in a provider's own list; none of what does not chat, or cannot be read. */
export const readListedModelId = (provider: Vendor, entry: unknown): Option.Option<string> => {
  switch (provider) {
    case "openrouter":
      return Option.map(asListed(entry), ({ id }) => OpenAiCompletionRequest.fromOpenRouterModelId(id))
    case "google":
      return asListedByGoogle(entry).pipe(
        Option.filter(({ supportedGenerationMethods: can }) => can?.includes("generateContent") ?? true),
        Option.map(({ name }) => GoogleModelName.fromGoogleModelName(name))
      )
    case "anthropic":
      return Option.map(asListed(entry), ({ id }) => AnthropicModelName.fromAnthropicModelName(id))
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
export const readListedModel = (provider: Vendor, entry: unknown): Option.Option<Model> => {
  const facts =
    provider === "openrouter"
      ? readOpenRouterModel(entry)
      : Option.flatMap(readListedModelId(provider, entry), findShippedModel)
  return Option.map(facts, (known) => ({ ...known, provider, available: true }))
}
