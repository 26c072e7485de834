import type { HttpClient } from "@effect/platform"
import { makeAnthropicClient } from "./anthropic/AnthropicClient.ts"
import { makeGoogleClient } from "./google/GoogleClient.ts"
import { makeOpenAiClient } from "./openai/OpenAiClient.ts"
import type { KeyedProviderName } from "./ProviderUrls.ts"
import type { VendorAccess } from "./vendor/VendorClient.ts"
import type { VendorModelClient } from "./vendor/VendorModelProvider.ts"

export const makeModelClient = (
  http: HttpClient.HttpClient,
  name: KeyedProviderName,
  access: VendorAccess
): VendorModelClient => {
  switch (name) {
    case "anthropic":
      return makeAnthropicClient(http, access)
    case "google":
      return makeGoogleClient(http, access)
    case "openrouter":
    case "openai":
    case "groq":
      return makeOpenAiClient(http, name, access)
  }
}
