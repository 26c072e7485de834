import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { HttpClient } from "@effect/platform"
import { Effect, type Redacted } from "effect"
import { makeAnthropicClient } from "./AnthropicClient.ts"
import { classifyAnthropicFailure } from "./AnthropicFailureKind.ts"
import { makeMessagesRequest } from "./AnthropicMessagesRequest.ts"
import { readAnthropicAnswer } from "./AnthropicAnswer.ts"
import { makeVendorModelProvider } from "../vendor/VendorModelProvider.ts"

export interface AnthropicModelProviderOptions {
  readonly apiKey: Redacted.Redacted
  /** With the version: https://api.anthropic.com/v1. */
  readonly baseUrl: string
}

/** Where it is unless configuration says otherwise. */
export const defaultAnthropicUrl = "https://api.anthropic.com/v1"

/** Anthropic as a provider of models. */
export const makeAnthropicModelProvider = ({
  apiKey,
  baseUrl
}: AnthropicModelProviderOptions): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> =>
  Effect.map(makeAnthropicClient({ baseUrl, apiKey }), (wire) =>
    makeVendorModelProvider({
      provider: "anthropic",
      apiKey,
      classify: classifyAnthropicFailure,
      chat: (modelId, messages, options) => wire.chat(makeMessagesRequest(modelId, messages, options)),
      readAnswer: readAnthropicAnswer,
      models: wire.models,
      probe: wire.probe
    })
  )
