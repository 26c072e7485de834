import { ProviderName } from "@berth/domain/ai/Model"
import { type ModelProvider, ModelProviders } from "@berth/domain/ai/ModelChat"
import { FetchHttpClient, HttpClient } from "@effect/platform"
import { Effect, Layer, type Redacted } from "effect"
import { anthropicUrl, makeAnthropicProvider } from "./AnthropicProvider.ts"
import { googleUrl, makeGoogleProvider } from "./GoogleProvider.ts"
import { makeOpenAiWireProvider, openAiWireUrls } from "./OpenAiWireProvider.ts"
import { makeOwnProviders } from "./OwnProviders.ts"
import { makeSandboxProvider, type SandboxOptions } from "./SandboxProvider.ts"

export interface ProviderAccess {
  readonly apiKey: Redacted.Redacted
  /** Where the provider is, with its version; its own address when absent. */
  readonly baseUrl?: string | undefined
}

/** The providers that need a key. */
export type Keyed = Exclude<ProviderName, "sandbox">

/** A provider without an entry is not configured. */
export type ModelProvidersOptions = { readonly [name in Keyed]?: ProviderAccess | undefined } & {
  /** The built-in model; null where it must not be. */
  readonly sandbox: SandboxOptions | null
  /** Where the providers are that owners have keys of their own for, the platform one or not; their own when absent. */
  readonly baseUrls?: { readonly [name in Keyed]?: string } | undefined
}

/** A provider by its name. */
export const makeProvider = (
  name: Keyed,
  { apiKey, baseUrl }: ProviderAccess
): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> => {
  switch (name) {
    case "anthropic":
      return makeAnthropicProvider({ apiKey, baseUrl: baseUrl ?? anthropicUrl })
    case "google":
      return makeGoogleProvider({ apiKey, baseUrl: baseUrl ?? googleUrl })
    case "openrouter":
    case "openai":
    case "groq":
      return makeOpenAiWireProvider({ name, apiKey, baseUrl: baseUrl ?? openAiWireUrls[name] })
  }
}

/** The providers that are configured, in the order in which they are tried. */
export const layer = (options: ModelProvidersOptions): Layer.Layer<ModelProviders> =>
  Layer.effect(
    ModelProviders,
    Effect.gen(function* () {
      const providers: Array<ModelProvider> = []
      for (const name of ProviderName.literals) {
        if (name === "sandbox") {
          if (options.sandbox !== null) providers.push(makeSandboxProvider(options.sandbox))
        } else {
          const access = options[name]
          if (access !== undefined) providers.push(yield* makeProvider(name, access))
        }
      }
      const http = yield* HttpClient.HttpClient
      const withKey = yield* makeOwnProviders((name, apiKey) =>
        makeProvider(name, { apiKey, baseUrl: options.baseUrls?.[name] ?? options[name]?.baseUrl }).pipe(
          Effect.provideService(HttpClient.HttpClient, http)
        )
      )
      return ModelProviders.of({ all: providers, withKey })
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))
