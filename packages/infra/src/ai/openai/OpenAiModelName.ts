import type { ProviderName } from "@berth/domain/ai/models/Model"
import { parseModelName } from "@berth/domain/ai/models/ModelRoutes"

/** Providers with this API. */
export type OpenAiCompatibleProvider = Extract<ProviderName, "openrouter" | "openai" | "groq">

/** OpenRouter writes Anthropic's versions with a dot (claude-opus-4.6); Anthropic and the catalog use a dash. */
export const toOpenRouterModelId = (modelId: string): string =>
  modelId.startsWith("anthropic/") ? modelId.replace(/-(\d)-(\d)(?=$|[-:])/, "-$1.$2") : modelId

export const fromOpenRouterModelId = (openRouterModelId: string): string =>
  openRouterModelId.startsWith("anthropic/")
    ? openRouterModelId.replace(/-(\d)\.(\d)(?=$|[-:])/, "-$1-$2")
    : openRouterModelId

/** Returns the provider's name of a catalog model. OpenRouter's names include the vendor. */
export const toOpenAiModelName = (provider: OpenAiCompatibleProvider, modelId: string): string => {
  if (provider === "openrouter") return toOpenRouterModelId(modelId)
  return modelId.startsWith(`${provider}/`) ? parseModelName(modelId) : modelId
}

/** Returns the catalog id of a name in the provider's list. */
export const fromOpenAiModelName = (provider: OpenAiCompatibleProvider, name: string): string =>
  provider === "openrouter" ? fromOpenRouterModelId(name) : `${provider}/${name}`
