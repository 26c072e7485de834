import type { ModelProvider } from "@berth/domain/ai/ModelChat"
import type { HttpClient } from "@effect/platform"
import { Effect, type Redacted } from "effect"
import { makeAnthropicWire } from "./anthropic-wire/AnthropicWire.ts"
import { kindOfRefusal } from "./anthropic-wire/KindOfRefusal.ts"
import { messagesRequest } from "./anthropic-wire/MessagesRequest.ts"
import { readAnswer } from "./anthropic-wire/ReadAnswer.ts"
import { wireProvider } from "./wire/WireProvider.ts"

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
  Effect.map(makeAnthropicWire({ baseUrl, apiKey }), (wire) =>
    wireProvider({
      provider: "anthropic",
      apiKey,
      kindOf: kindOfRefusal,
      chat: (modelId, messages, options) => wire.chat(messagesRequest(modelId, messages, options)),
      readAnswer,
      models: wire.models,
      cheapest: wire.ask
    })
  )
