import { type ModelProvider, ModelProviders } from "@berth/domain/ai/models/ModelProviders"
import { ProviderName } from "@berth/domain/ai/models/Model"
import { FetchHttpClient, HttpClient } from "@effect/platform"
import { Effect, Layer, type Redacted } from "effect"
import { defaultAnthropicUrl, makeAnthropicModelProvider } from "./anthropic/AnthropicModelProvider.ts"
import { defaultGoogleUrl, makeGoogleModelProvider } from "./google/GoogleModelProvider.ts"
import { makeOpenAiModelProvider, defaultOpenAiUrls } from "./openai/OpenAiModelProvider.ts"
import { makeOwnerKeyProviders } from "./OwnerKeyProviders.ts"
import { sandboxModelProvider } from "./sandbox/SandboxModelProvider.ts"

export interface ProviderAccess {
  readonly apiKey: Redacted.Redacted
  /** Including the version. Default: the vendor's address. */
  readonly baseUrl?: string | undefined
}

export type KeyedProviderName = Exclude<ProviderName, "sandbox">

/** Only providers with an entry are configured. */
export type ModelProvidersOptions = { readonly [name in KeyedProviderName]?: ProviderAccess | undefined } & {
  /** Enables the sandbox model. */
  readonly sandbox?: boolean
  /** Base URLs for owners' keys. Default: the vendors' addresses. */
  readonly baseUrls?: { readonly [name in KeyedProviderName]?: string } | undefined
}

export const makeModelProvider = (
  name: KeyedProviderName,
  { apiKey, baseUrl }: ProviderAccess
): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> => {
  switch (name) {
    case "anthropic":
      return makeAnthropicModelProvider({ apiKey, baseUrl: baseUrl ?? defaultAnthropicUrl })
    case "google":
      return makeGoogleModelProvider({ apiKey, baseUrl: baseUrl ?? defaultGoogleUrl })
    case "openrouter":
    case "openai":
    case "groq":
      return makeOpenAiModelProvider({ name, apiKey, baseUrl: baseUrl ?? defaultOpenAiUrls[name] })
  }
}

/** Configured providers, in the order of attempts. */
export const layer = (options: ModelProvidersOptions): Layer.Layer<ModelProviders> =>
  Layer.effect(
    ModelProviders,
    Effect.gen(function* () {
      const providers: Array<ModelProvider> = []
      for (const name of ProviderName.literals) {
        if (name === "sandbox") {
          if (options.sandbox === true) providers.push(sandboxModelProvider)
        } else {
          const access = options[name]
          if (access !== undefined) providers.push(yield* makeModelProvider(name, access))
        }
      }
      const http = yield* HttpClient.HttpClient
      const withKey = yield* makeOwnerKeyProviders((name, apiKey) =>
        makeModelProvider(name, { apiKey, baseUrl: options.baseUrls?.[name] ?? options[name]?.baseUrl }).pipe(
          Effect.provideService(HttpClient.HttpClient, http)
        )
      )
      return ModelProviders.of({ all: providers, withKey })
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))
