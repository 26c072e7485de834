import { oncePerObject } from "../../shared/ObjectMemo.ts"
import type { Model, ProviderName } from "./Model.ts"

/** Returns the vendor of `<vendor>/<name>`; empty without a vendor. */
export const parseModelVendor = (modelId: string): string => {
  const slash = modelId.indexOf("/")
  return slash < 0 ? "" : modelId.slice(0, slash)
}

/** Returns the name of `<vendor>/<name>`. */
export const parseModelName = (modelId: string): string => modelId.slice(modelId.indexOf("/") + 1)

// Variants such as `:free`, and OpenAI's and Google's open-weight models.
const isOpenRouterOnly = (modelId: string) =>
  modelId.includes(":") ||
  modelId.startsWith("openai/gpt-oss") ||
  (modelId.startsWith("google/") && !modelId.startsWith("google/gemini-")) ||
  (modelId.startsWith("anthropic/") && modelId.endsWith("-fast"))

/**
 * Lists the providers of a model by its id, in the order of attempts. OpenRouter has all models but those of Groq and
 * the sandbox.
 */
export const listModelProviders = (modelId: string): ReadonlyArray<ProviderName> => {
  const vendor = parseModelVendor(modelId)
  switch (vendor) {
    case "sandbox":
    case "groq":
      return [vendor]
    case "anthropic":
    case "openai":
    case "google":
      return isOpenRouterOnly(modelId) ? ["openrouter"] : ["openrouter", vendor]
    default:
      return ["openrouter"]
  }
}

/** Returns the nominal provider of a model that no configured provider runs: its vendor, else OpenRouter. */
export const findHomeProvider = (modelId: string): ProviderName => listModelProviders(modelId).at(-1) ?? "openrouter"

const routesOf = oncePerObject((model: Model) =>
  oncePerObject((configured: ReadonlySet<ProviderName>): ReadonlyArray<ProviderName> =>
    [...new Set([model.provider, ...listModelProviders(model.id)])].filter((provider) => configured.has(provider))
  )
)

/** Lists the configured providers of a model, the catalog's first. Memoized: called several times per model call. */
export const findModelRoutes = (model: Model, configured: ReadonlySet<ProviderName>): ReadonlyArray<ProviderName> =>
  routesOf(model)(configured)
