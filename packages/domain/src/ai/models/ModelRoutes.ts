import type { Model, ProviderName } from "./Model.ts"

/** The vendor of `<vendor>/<name>`; empty for an id without one. */
export const parseModelVendor = (modelId: string): string => {
  const slash = modelId.indexOf("/")
  return slash < 0 ? "" : modelId.slice(0, slash)
}

/** The name of `<vendor>/<name>`. */
export const parseModelName = (modelId: string): string => modelId.slice(modelId.indexOf("/") + 1)

// Variants such as `:free` and `-fast`, OpenAI's and Google's open-weight models are served through OpenRouter alone.
const isOpenRouterOnly = (modelId: string) =>
  modelId.includes(":") ||
  modelId.startsWith("openai/gpt-oss") ||
  (modelId.startsWith("google/") && !modelId.startsWith("google/gemini-")) ||
  (modelId.startsWith("anthropic/") && modelId.endsWith("-fast"))

/**
 * The providers that can run a model as far as its id tells, in the order in which they are tried: OpenRouter runs
 * every vendor's, a vendor its own. Models of groq and the sandbox run nowhere else.
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

/** Where a model belongs that no configured provider runs: its vendor, or OpenRouter for a vendor without a wire here. */
export const findHomeProvider = (modelId: string): ProviderName => listModelProviders(modelId).at(-1) ?? "openrouter"

/** The configured providers that can run a model: the one the catalogue names first, then the others. */
export const findModelRoutes = (model: Model, configured: ReadonlySet<ProviderName>): ReadonlyArray<ProviderName> =>
  [...new Set([model.provider, ...listModelProviders(model.id)])].filter((provider) => configured.has(provider))
