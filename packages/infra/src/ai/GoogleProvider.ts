import type { ModelProvider } from "@berth/domain/ai/ModelChat"
import type { HttpClient } from "@effect/platform"
import { Array, Effect, type Redacted, Stream } from "effect"
import { readListed } from "./catalogue/ListedModels.ts"
import { generateRequest } from "./google-wire/GenerateRequest.ts"
import { makeGoogleWire } from "./google-wire/GoogleWire.ts"
import { kindOfRefusal } from "./google-wire/KindOfRefusal.ts"
import { wireModel } from "./google-wire/ModelName.ts"
import { readAnswer } from "./google-wire/ReadAnswer.ts"
import { countCalls } from "./wire/Conversation.ts"
import { healthOf } from "./wire/Health.ts"
import { readFailure } from "./wire/ReadFailure.ts"

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
  Effect.map(makeGoogleWire({ baseUrl, apiKey }), (wire) => {
    const failure = readFailure({ provider: "google", apiKey, kindOf: kindOfRefusal })
    return {
      name: "google",
      chat: (modelId, messages, options) =>
        wire
          .chat(wireModel(modelId), generateRequest(modelId, messages, options))
          .pipe(
            readAnswer({ provider: "google", model: modelId, callsBefore: countCalls(messages) }),
            Stream.mapError(failure)
          ),
      models: wire.models.pipe(
        Effect.mapBoth({
          onFailure: failure,
          onSuccess: Array.filterMap((entry) => readListed("google", entry))
        })
      ),
      healthy: healthOf("google", wire.ask, failure)
    }
  })
