import type { ModelCredentialKey } from "@berth/domain/secrets/Credential"
import { ModelKeyUnverifiable, ModelKeyVerifier, ModelKeyRejected } from "@berth/domain/secrets/ModelKeyVerifier"
import { FetchHttpClient, HttpClient } from "@effect/platform"
import { Effect, Layer, type Redacted } from "effect"
import { makeAnthropicClient } from "./anthropic/AnthropicClient.ts"
import { classifyAnthropicFailure } from "./anthropic/AnthropicErrors.ts"
import { classifyGoogleFailure } from "./google/GoogleErrors.ts"
import { makeGoogleClient } from "./google/GoogleClient.ts"
import { classifyOpenAiFailure } from "./openai/OpenAiErrors.ts"
import { makeOpenAiClient } from "./openai/OpenAiClient.ts"
import type { FailureKind } from "./vendor/ProviderFailure.ts"
import type { VendorRequestRejected, VendorFailure } from "./vendor/VendorErrors.ts"

/** Base URLs, including the version. */
export type ProviderUrls = { readonly [provider in ModelCredentialKey]: string }

interface KeyVerification {
  readonly send: Effect.Effect<void, VendorFailure>
  readonly classify: (rejection: VendorRequestRejected) => FailureKind
}

const timeout = "10 seconds"

const makeKeyVerification = (
  provider: ModelCredentialKey,
  apiKey: Redacted.Redacted,
  baseUrl: string
): Effect.Effect<KeyVerification, never, HttpClient.HttpClient> => {
  switch (provider) {
    case "anthropic":
      return Effect.map(makeAnthropicClient({ baseUrl, apiKey }), ({ probe }) => ({
        send: probe,
        classify: classifyAnthropicFailure
      }))
    case "google":
      return Effect.map(makeGoogleClient({ baseUrl, apiKey }), ({ probe }) => ({
        send: probe,
        classify: classifyGoogleFailure
      }))
    case "openai":
    case "openrouter":
    case "groq":
      return Effect.map(makeOpenAiClient({ baseUrl, apiKey }), ({ probe }) => ({
        // OpenRouter's model list is public, so it does not check the key.
        send: probe(provider === "openrouter" ? "/key" : "/models"),
        classify: classifyOpenAiFailure
      }))
  }
}

export const layer = (urls: ProviderUrls): Layer.Layer<ModelKeyVerifier> =>
  Layer.effect(
    ModelKeyVerifier,
    Effect.map(HttpClient.HttpClient, (http) =>
      ModelKeyVerifier.of({
        verify: Effect.fn("ModelKeyVerifier.verify")(function* (provider, key) {
          const { send, classify } = yield* makeKeyVerification(provider, key, urls[provider]).pipe(
            Effect.provideService(HttpClient.HttpClient, http)
          )
          yield* send.pipe(
            Effect.catchTag(
              "VendorRequestRejected",
              (rejection): Effect.Effect<void, ModelKeyRejected | ModelKeyUnverifiable> => {
                const kind = classify(rejection)
                if (kind === "unauthorized" || rejection.status === 403) return new ModelKeyRejected({ provider })
                // Only a valid key is rate limited.
                return kind === "rate-limited" ? Effect.void : new ModelKeyUnverifiable({ provider })
              }
            ),
            Effect.catchTags({
              VendorConnectionFailed: () => new ModelKeyUnverifiable({ provider }),
              VendorAnswerMalformed: () => new ModelKeyUnverifiable({ provider })
            }),
            Effect.interruptible,
            Effect.timeoutFail({ duration: timeout, onTimeout: () => new ModelKeyUnverifiable({ provider }) })
          )
        })
      })
    )
  ).pipe(Layer.provide(FetchHttpClient.layer))
