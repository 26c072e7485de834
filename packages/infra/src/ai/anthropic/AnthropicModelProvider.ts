import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { HttpClient } from "@effect/platform"
import { Effect, type Redacted } from "effect"
import { makeAnthropicClient } from "./AnthropicClient.ts"
import { classifyAnthropicFailure } from "./AnthropicErrors.ts"
import { makeAnthropicRequest } from "./AnthropicRequest.ts"
import { readAnthropicAnswer } from "./AnthropicAnswer.ts"
import { makeVendorModelProvider } from "../vendor/VendorModelProvider.ts"

export interface AnthropicModelProviderOptions {
  readonly apiKey: Redacted.Redacted
  /** Including the version: https://api.anthropic.com/v1. */
  readonly baseUrl: string
}

export const defaultAnthropicUrl = "https://api.anthropic.com/v1"

export const makeAnthropicModelProvider = ({
  apiKey,
  baseUrl
}: AnthropicModelProviderOptions): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> =>
  Effect.map(makeAnthropicClient({ baseUrl, apiKey }), ({ chat, models, probe }) =>
    makeVendorModelProvider({
      provider: "anthropic",
      apiKey,
      classify: classifyAnthropicFailure,
      chat: (modelId, messages, options) => chat(makeAnthropicRequest(modelId, messages, options)),
      readAnswer: readAnthropicAnswer,
      models,
      probe
    })
  )
