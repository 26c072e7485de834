import type { ModelProvider } from "@berth/domain/ai/ModelChat"
import type { HttpClient } from "@effect/platform"
import { Effect, type Redacted } from "effect"
import { generateRequest } from "./google-wire/GenerateRequest.ts"
import { makeGoogleWire } from "./google-wire/GoogleWire.ts"
import { kindOfRefusal } from "./google-wire/KindOfRefusal.ts"
import { wireModel } from "./google-wire/ModelName.ts"
import { readAnswer } from "./google-wire/ReadAnswer.ts"
import { wireProvider } from "./wire/WireProvider.ts"

export interface GoogleOptions {
  readonly apiKey: Redacted.Redacted
  /** With the version: https://generativelanguage.googleapis.com/v1beta. */
  readonly baseUrl: string
}

/** Where it is unless configuration says otherwise. */
export const googleUrl = "https://generativelanguage.googleapis.com/v1beta"

/** Google's Gemini API as a provider of models. */
export const makeGoogleProvider = ({
  apiKey,
  baseUrl
}: GoogleOptions): Effect.Effect<ModelProvider, never, HttpClient.HttpClient> =>
  Effect.map(makeGoogleWire({ baseUrl, apiKey }), (wire) =>
    wireProvider({
      provider: "google",
      apiKey,
      kindOf: kindOfRefusal,
      chat: (modelId, messages, options) => wire.chat(wireModel(modelId), generateRequest(modelId, messages, options)),
      readAnswer,
      models: wire.models,
      cheapest: wire.ask
    })
  )
