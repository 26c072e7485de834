import type { ModelProvider } from "@berth/domain/ai/ModelChat"
import type { HttpClient } from "@effect/platform"
import { Effect, type Redacted } from "effect"
import { completionRequest, type OpenAiWireName } from "./openai-wire/CompletionRequest.ts"
import { kindOfRefusal } from "./openai-wire/KindOfRefusal.ts"
import { makeOpenAiWire } from "./openai-wire/OpenAiWire.ts"
import { readAnswer } from "./openai-wire/ReadAnswer.ts"
import { wireProvider } from "./wire/WireProvider.ts"

export interface OpenAiWireOptions {
  readonly name: OpenAiWireName
  readonly apiKey: Redacted.Redacted
  /** With the version: https://api.openai.com/v1. */
  readonly baseUrl: string
}

/** Where each is unless configuration says otherwise. */
export const openAiWireUrls: { readonly [name in OpenAiWireName]: string } = {
  openrouter: "https://openrouter.ai/api/v1",
  openai: "https://api.openai.com/v1",
  groq: "https://api.groq.com/openai/v1"
}

/** OpenRouter, OpenAI, Groq or whatever speaks like them as a provider of models. */
export const makeOpenAiWireProvider = ({
  apiKey,
  baseUrl,
  name
}: OpenAiWireOptions): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> =>
  Effect.map(makeOpenAiWire({ baseUrl, apiKey }), (wire) =>
    wireProvider({
      provider: name,
      apiKey,
      kindOf: kindOfRefusal,
      chat: (modelId, messages, options) => wire.chat(completionRequest(name, modelId, messages, options)),
      readAnswer,
      models: wire.models,
      // OpenRouter's list of models is public, so it says nothing of the key.
      cheapest:
        name === "openrouter"
          ? Effect.catchIf(
              wire.ask("/key"),
              (refusal) => refusal._tag === "VendorRefused" && refusal.status === 404,
              () => wire.ask("/models")
            )
          : wire.ask("/models")
    })
  )
