import type { Model, ProviderName } from "@berth/domain/ai/models/Model"
import { Option, Schema } from "effect"
import { fromAnthropicModelName } from "../anthropic/AnthropicModelName.ts"
import { fromGoogleModelName } from "../google/GoogleModelName.ts"
import { fromOpenAiModelName } from "../openai/OpenAiModelName.ts"
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

/** Returns the catalog id of an entry in a provider's list; none for a malformed entry or another type of model. */
export const readListedModelId = (provider: Vendor, entry: unknown): Option.Option<string> => {
  switch (provider) {
    case "google":
      return asListedByGoogle(entry).pipe(
        Option.filter(({ supportedGenerationMethods: can }) => can?.includes("generateContent") ?? true),
        Option.map(({ name }) => fromGoogleModelName(name))
      )
    case "anthropic":
      return Option.map(asListed(entry), ({ id }) => fromAnthropicModelName(id))
    case "openrouter":
    case "openai":
    case "groq":
      return asListed(entry).pipe(
        Option.filter(({ active }) => active !== false),
        Option.map(({ id }) => fromOpenAiModelName(provider, id))
      )
  }
}

/**
 * Returns the model of an entry in a provider's list. Only OpenRouter lists prices; for other providers, only shipped
 * models are known.
 */
export const readListedModel = (provider: Vendor, entry: unknown): Option.Option<Model> => {
  const facts =
    provider === "openrouter"
      ? readOpenRouterModel(entry)
      : Option.flatMap(readListedModelId(provider, entry), findShippedModel)
  return Option.map(facts, (known) => ({ ...known, provider, available: true }))
}
