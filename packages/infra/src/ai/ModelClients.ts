import { makeAnthropicClient } from "./anthropic/AnthropicClient.ts"
import { makeGoogleClient } from "./google/GoogleClient.ts"
import { makeOpenAiClient } from "./openai/OpenAiClient.ts"
import type { KeyedProviderName } from "./ProviderUrls.ts"
import type { VendorAccess } from "./vendor/VendorClient.ts"
import type { VendorModelClient } from "./vendor/VendorModelProvider.ts"

export const makeModelClient = (name: KeyedProviderName, access: VendorAccess): VendorModelClient => {
  switch (name) {
    case "anthropic":
      return makeAnthropicClient(access)
    case "google":
      return makeGoogleClient(access)
    case "openrouter":
    case "openai":
    case "groq":
      return makeOpenAiClient(name, access)
  }
}
