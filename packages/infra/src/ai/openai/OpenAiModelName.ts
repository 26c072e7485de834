import type { ProviderName } from "@berth/domain/ai/models/Model"
import { parseModelName } from "@berth/domain/ai/models/ModelRoutes"

/** The providers with this API. */
export type OpenAiCompatibleProvider = Extract<ProviderName, "openrouter" | "openai" | "groq">

/** OpenRouter writes Anthropic's versions with a dot (claude-opus-4.6), Anthropic and the catalog with a dash. */
export const toOpenRouterModelId = (modelId: string): string =>
  modelId.startsWith("anthropic/") ? modelId.replace(/-(\d)-(\d)(?=$|[-:])/, "-$1.$2") : modelId

export const fromOpenRouterModelId = (openRouterModelId: string): string =>
  openRouterModelId.startsWith("anthropic/")
    ? openRouterModelId.replace(/-(\d)\.(\d)(?=$|[-:])/, "-$1-$2")
    : openRouterModelId

/** The provider's name of a model in the catalog. OpenRouter's includes the vendor. */
export const toOpenAiModelName = (provider: OpenAiCompatibleProvider, modelId: string): string => {
  if (provider === "openrouter") return toOpenRouterModelId(modelId)
  return modelId.startsWith(`${provider}/`) ? parseModelName(modelId) : modelId
}

/** The catalog's id of a name in the provider's list. */
export const fromOpenAiModelName = (provider: OpenAiCompatibleProvider, name: string): string =>
  provider === "openrouter" ? fromOpenRouterModelId(name) : `${provider}/${name}`
