import { KeyCannotBeChecked, KeyCheck, KeyIsRefused, type ModelCredentialKey } from "@berth/domain/secrets/KeyCheck"
import { FetchHttpClient, HttpClient } from "@effect/platform"
import { Effect, Layer, type Redacted } from "effect"
import { makeAnthropicWire } from "./anthropic-wire/AnthropicWire.ts"
import { kindOfRefusal as anthropicKind } from "./anthropic-wire/KindOfRefusal.ts"
import { kindOfRefusal as googleKind } from "./google-wire/KindOfRefusal.ts"
import { makeGoogleWire } from "./google-wire/GoogleWire.ts"
import { kindOfRefusal as openAiKind } from "./openai-wire/KindOfRefusal.ts"
import { makeOpenAiWire } from "./openai-wire/OpenAiWire.ts"
import type { FailureKind } from "./wire/ReadFailure.ts"
import type { VendorRefused, WireFailure } from "./wire/WireFailure.ts"

/** Where the providers are, each with its version. */
export type ProviderUrls = { readonly [provider in ModelCredentialKey]: string }

interface Question {
  readonly ask: Effect.Effect<void, WireFailure>
  readonly kindOf: (refusal: VendorRefused) => FailureKind
}

/** Nobody waits longer for a provider to look at a key. */
const patience = "10 seconds"

const questionOf = (
  provider: ModelCredentialKey,
  apiKey: Redacted.Redacted,
  baseUrl: string
): Effect.Effect<Question, never, HttpClient.HttpClient> => {
  switch (provider) {
    case "anthropic":
      return Effect.map(makeAnthropicWire({ baseUrl, apiKey }), ({ ask }) => ({ ask, kindOf: anthropicKind }))
    case "google":
      return Effect.map(makeGoogleWire({ baseUrl, apiKey }), ({ ask }) => ({ ask, kindOf: googleKind }))
    case "openai":
    case "openrouter":
      return Effect.map(makeOpenAiWire({ baseUrl, apiKey }), ({ ask }) => ({
        // OpenRouter's list of models is public, so it says nothing of the key.
        ask: ask(provider === "openrouter" ? "/key" : "/models"),
        kindOf: openAiKind
      }))
  }
}

export const layer = (urls: ProviderUrls): Layer.Layer<KeyCheck> =>
  Layer.effect(
    KeyCheck,
    Effect.map(HttpClient.HttpClient, (http) =>
      KeyCheck.of({
        check: Effect.fn("KeyCheck.check")(function* (provider, key) {
          const { ask, kindOf } = yield* questionOf(provider, key, urls[provider]).pipe(
            Effect.provideService(HttpClient.HttpClient, http)
          )
          yield* ask.pipe(
            Effect.catchTag("VendorRefused", (refusal): Effect.Effect<void, KeyIsRefused | KeyCannotBeChecked> => {
              const kind = kindOf(refusal)
              if (kind === "unauthorized" || refusal.status === 403) return new KeyIsRefused({ provider })
              // Too busy with this very key, so it knows it.
              return kind === "rate-limited" ? Effect.void : new KeyCannotBeChecked({ provider })
            }),
            Effect.catchTags({
              WireIsBroken: () => new KeyCannotBeChecked({ provider }),
              AnswerIsNonsense: () => new KeyCannotBeChecked({ provider })
            }),
            Effect.interruptible,
            Effect.timeoutFail({ duration: patience, onTimeout: () => new KeyCannotBeChecked({ provider }) })
          )
        })
      })
    )
  ).pipe(Layer.provide(FetchHttpClient.layer))
