import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { HttpClient } from "@effect/platform"
import { Effect, type Redacted } from "effect"
import { classifyOpenAiFailure } from "./OpenAiErrors.ts"
import { type OpenAiCompatibleProvider, toOpenAiModelName } from "./OpenAiModelName.ts"
import { makeOpenAiRequest } from "./OpenAiRequest.ts"
import { makeOpenAiClient } from "./OpenAiClient.ts"
import { readOpenAiAnswer } from "./OpenAiAnswer.ts"
import { makeVendorModelProvider } from "../vendor/VendorModelProvider.ts"

export interface OpenAiModelProviderOptions {
  readonly name: OpenAiCompatibleProvider
  readonly apiKey: Redacted.Redacted
  /** Including the version: https://api.openai.com/v1. */
  readonly baseUrl: string
}

export const defaultOpenAiUrls: { readonly [name in OpenAiCompatibleProvider]: string } = {
  openrouter: "https://openrouter.ai/api/v1",
  openai: "https://api.openai.com/v1",
  groq: "https://api.groq.com/openai/v1"
}

/** OpenRouter, OpenAI, Groq or a compatible server. */
export const makeOpenAiModelProvider = ({
  apiKey,
  baseUrl,
  name
}: OpenAiModelProviderOptions): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> =>
  Effect.map(makeOpenAiClient({ baseUrl, apiKey }), ({ chat, embed, models, probe }) =>
    makeVendorModelProvider({
      provider: name,
      apiKey,
      classify: classifyOpenAiFailure,
      chat: (modelId, messages, options) => chat(makeOpenAiRequest(name, modelId, messages, options)),
      readAnswer: readOpenAiAnswer,
      // The other compatible providers have no embeddings, or none with a list price.
      ...(name === "openai" && {
        embed: (modelId, { dimensions, input }) =>
          embed({ model: toOpenAiModelName(name, modelId), input, dimensions, encoding_format: "base64" })
      }),
      models,
      // OpenRouter's model list is public, so it does not check the key.
      probe:
        name === "openrouter"
          ? Effect.catchIf(
              probe("/key"),
              (failure) => failure._tag === "VendorRequestRejected" && failure.status === 404,
              () => probe("/models")
            )
          : probe("/models")
    })
  )
