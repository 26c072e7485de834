import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { HttpClient } from "@effect/platform"
import { Effect, type Redacted } from "effect"
import { makeGoogleRequest } from "./GoogleRequest.ts"
import { makeGoogleClient } from "./GoogleClient.ts"
import { classifyGoogleFailure } from "./GoogleErrors.ts"
import { toGoogleModelName } from "./GoogleModelName.ts"
import { readGoogleAnswer } from "./GoogleAnswer.ts"
import { makeVendorModelProvider } from "../vendor/VendorModelProvider.ts"

export interface GoogleModelProviderOptions {
  readonly apiKey: Redacted.Redacted
  /** Including the version: https://generativelanguage.googleapis.com/v1beta. */
  readonly baseUrl: string
}

export const defaultGoogleUrl = "https://generativelanguage.googleapis.com/v1beta"

export const makeGoogleModelProvider = ({
  apiKey,
  baseUrl
}: GoogleModelProviderOptions): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> =>
  Effect.map(makeGoogleClient({ baseUrl, apiKey }), ({ chat, models, probe }) =>
    makeVendorModelProvider({
      provider: "google",
      apiKey,
      classify: classifyGoogleFailure,
      chat: (modelId, messages, options) =>
        chat(toGoogleModelName(modelId), makeGoogleRequest(modelId, messages, options)),
      readAnswer: readGoogleAnswer,
      models,
      probe
    })
  )
