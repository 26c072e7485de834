import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { HttpClient } from "@effect/platform"
import { Effect, type Redacted } from "effect"
import { makeCompletionRequest, type OpenAiCompatibleProvider } from "./OpenAiCompletionRequest.ts"
import { classifyOpenAiFailure } from "./OpenAiFailureKind.ts"
import { makeOpenAiClient } from "./OpenAiClient.ts"
import { readOpenAiAnswer } from "./OpenAiAnswer.ts"
import { makeVendorModelProvider } from "../vendor/VendorModelProvider.ts"

export interface OpenAiModelProviderOptions {
  readonly name: OpenAiCompatibleProvider
  readonly apiKey: Redacted.Redacted
  /** With the version: https://api.openai.com/v1. */
  readonly baseUrl: string
}

/** Where each is unless configuration says otherwise. */
export const defaultOpenAiUrls: { readonly [name in OpenAiCompatibleProvider]: string } = {
  openrouter: "https://openrouter.ai/api/v1",
  openai: "https://api.openai.com/v1",
  groq: "https://api.groq.com/openai/v1"
}

/** OpenRouter, OpenAI, Groq or whatever speaks like them as a provider of models. */
export const makeOpenAiModelProvider = ({
  apiKey,
  baseUrl,
  name
}: OpenAiModelProviderOptions): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> =>
  Effect.map(makeOpenAiClient({ baseUrl, apiKey }), (wire) =>
    makeVendorModelProvider({
      provider: name,
      apiKey,
      classify: classifyOpenAiFailure,
      chat: (modelId, messages, options) => wire.chat(makeCompletionRequest(name, modelId, messages, options)),
      readAnswer: readOpenAiAnswer,
      models: wire.models,
      // OpenRouter's list of models is public, so it says nothing of the key.
      probe:
        name === "openrouter"
          ? Effect.catchIf(
              wire.probe("/key"),
              (refusal) => refusal._tag === "VendorRequestRejected" && refusal.status === 404,
              () => wire.probe("/models")
            )
          : wire.probe("/models")
    })
  )
