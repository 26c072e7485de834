import type { ModelProvider } from "@berth/domain/ai/ModelChat"
import type { HttpClient } from "@effect/platform"
import { Array, Effect, type Redacted, Stream } from "effect"
import { makeAnthropicWire } from "./anthropic-wire/AnthropicWire.ts"
import { kindOfRefusal } from "./anthropic-wire/KindOfRefusal.ts"
import { messagesRequest } from "./anthropic-wire/MessagesRequest.ts"
import { readAnswer } from "./anthropic-wire/ReadAnswer.ts"
import { readListed } from "./catalogue/ListedModels.ts"
import { countCalls } from "./wire/Conversation.ts"
import { healthOf } from "./wire/Health.ts"
import { readFailure } from "./wire/ReadFailure.ts"

export interface AnthropicOptions {
  readonly apiKey: Redacted.Redacted
  /** With the version: https://api.anthropic.com/v1. */
  readonly baseUrl: string
}

/** Where it is unless configuration says otherwise. */
export const anthropicUrl = "https://api.anthropic.com/v1"

/** Anthropic as a provider of models. */
export const makeAnthropicProvider = ({
  apiKey,
  baseUrl
}: AnthropicOptions): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> =>
  Effect.map(makeAnthropicWire({ baseUrl, apiKey }), (wire) => {
    const failure = readFailure({ provider: "anthropic", apiKey, kindOf: kindOfRefusal })
    return {
      name: "anthropic",
      chat: (modelId, messages, options) =>
        wire
          .chat(messagesRequest(modelId, messages, options))
          .pipe(
            readAnswer({ provider: "anthropic", model: modelId, callsBefore: countCalls(messages) }),
            Stream.mapError(failure)
          ),
      models: wire.models.pipe(
        Effect.mapBoth({
          onFailure: failure,
          onSuccess: Array.filterMap((entry) => readListed("anthropic", entry))
        })
      ),
      healthy: healthOf("anthropic", wire.ask, failure)
    }
  })
