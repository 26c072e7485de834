import type { ProviderName } from "@berth/domain/ai/models/Model"

export type KeyedProviderName = Exclude<ProviderName, "sandbox">

/** Addresses of the vendors, including the version. */
export const providerUrls: { readonly [name in KeyedProviderName]: string } = {
  openrouter: "https://openrouter.ai/api/v1",
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
  groq: "https://api.groq.com/openai/v1"
}
