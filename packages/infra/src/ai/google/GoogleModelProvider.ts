import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { HttpClient } from "@effect/platform"
import { Effect, type Redacted } from "effect"
import { makeGenerateRequest } from "./GoogleGenerateRequest.ts"
import { makeGoogleClient } from "./GoogleClient.ts"
import { classifyGoogleFailure } from "./GoogleFailureKind.ts"
import { toGoogleModelName } from "./GoogleModelName.ts"
import { readGoogleAnswer } from "./GoogleAnswer.ts"
import { makeVendorModelProvider } from "../vendor/VendorModelProvider.ts"

export interface GoogleModelProviderOptions {
  readonly apiKey: Redacted.Redacted
  /** With the version: https://generativelanguage.googleapis.com/v1beta. */
  readonly baseUrl: string
}

/** Where it is unless configuration says otherwise. */
export const defaultGoogleUrl = "https://generativelanguage.googleapis.com/v1beta"

/** Google's Gemini API as a provider of models. */
export const makeGoogleModelProvider = ({
  apiKey,
  baseUrl
}: GoogleModelProviderOptions): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> =>
  Effect.map(makeGoogleClient({ baseUrl, apiKey }), (wire) =>
    makeVendorModelProvider({
      provider: "google",
      apiKey,
      classify: classifyGoogleFailure,
      chat: (modelId, messages, options) =>
        wire.chat(toGoogleModelName(modelId), makeGenerateRequest(modelId, messages, options)),
      readAnswer: readGoogleAnswer,
      models: wire.models,
      probe: wire.probe
    })
  )
