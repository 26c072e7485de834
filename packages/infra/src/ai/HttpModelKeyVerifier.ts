import {
  ModelKeyUnverifiable,
  ModelKeyVerifier,
  ModelKeyRejected,
  type ModelCredentialKey
} from "@berth/domain/secrets/ModelKeyVerifier"
import { FetchHttpClient, HttpClient } from "@effect/platform"
import { Effect, Layer, type Redacted } from "effect"
import { makeAnthropicClient } from "./anthropic/AnthropicClient.ts"
import { classifyAnthropicFailure as anthropicKind } from "./anthropic/AnthropicFailureKind.ts"
import { classifyGoogleFailure as googleKind } from "./google/GoogleFailureKind.ts"
import { makeGoogleClient } from "./google/GoogleClient.ts"
import { classifyOpenAiFailure as openAiKind } from "./openai/OpenAiFailureKind.ts"
import { makeOpenAiClient } from "./openai/OpenAiClient.ts"
import type { FailureKind } from "./vendor/ProviderFailure.ts"
import type { VendorRequestRejected, VendorFailure } from "./vendor/VendorErrors.ts"

/** Where the providers are, each with its version. */
export type ProviderUrls = { readonly [provider in ModelCredentialKey]: string }

interface KeyVerification {
  readonly send: Effect.Effect<void, VendorFailure>
  readonly classify: (refusal: VendorRequestRejected) => FailureKind
}

/** Nobody waits longer for a provider to look at a key. */
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
        classify: anthropicKind
      }))
    case "google":
      return Effect.map(makeGoogleClient({ baseUrl, apiKey }), ({ probe }) => ({ send: probe, classify: googleKind }))
    case "openai":
    case "openrouter":
      return Effect.map(makeOpenAiClient({ baseUrl, apiKey }), ({ probe }) => ({
        // OpenRouter's list of models is public, so it says nothing of the key.
        send: probe(provider === "openrouter" ? "/key" : "/models"),
        classify: openAiKind
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
              (refusal): Effect.Effect<void, ModelKeyRejected | ModelKeyUnverifiable> => {
                const kind = classify(refusal)
                if (kind === "unauthorized" || refusal.status === 403) return new ModelKeyRejected({ provider })
                // Too busy with this very key, so it knows it.
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
