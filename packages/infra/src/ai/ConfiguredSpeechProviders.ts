import { type SpeechVendor, speechVendors } from "@berth/domain/gateway/speech/SpeechModel"
import { type SpeechProvider, SpeechProviders } from "@berth/domain/gateway/speech/SpeechProviders"
import { FetchHttpClient, HttpClient } from "@effect/platform"
import { Effect, Layer } from "effect"
import type { ModelProvidersOptions } from "./ConfiguredModelProviders.ts"
import { makeOpenAiSpeechProvider } from "./openai/OpenAiSpeechProvider.ts"
import { defaultOpenAiUrls } from "./openai/OpenAiModelProvider.ts"
import { makeOwnerKeyProviders } from "./OwnerKeyProviders.ts"
import { sandboxSpeechProvider } from "./sandbox/SandboxSpeechProvider.ts"

export type SpeechProvidersOptions = Pick<ModelProvidersOptions, (typeof speechVendors)[number] | "baseUrls"> & {
  /** Whether to enable the sandbox; never in production. */
  readonly sandbox: boolean
}

export const layer = (options: SpeechProvidersOptions): Layer.Layer<SpeechProviders> =>
  Layer.effect(
    SpeechProviders,
    Effect.gen(function* () {
      const http = yield* HttpClient.HttpClient
      const all: Array<SpeechProvider> = []
      for (const name of speechVendors) {
        const access = options[name]
        if (access === undefined) continue
        const { apiKey, baseUrl = defaultOpenAiUrls[name] } = access
        all.push(yield* makeOpenAiSpeechProvider({ name, apiKey, baseUrl }))
      }
      if (options.sandbox) all.push(sandboxSpeechProvider)
      const withKey = yield* makeOwnerKeyProviders((name: SpeechVendor, apiKey) =>
        makeOpenAiSpeechProvider({
          name,
          apiKey,
          baseUrl: options.baseUrls?.[name] ?? options[name]?.baseUrl ?? defaultOpenAiUrls[name]
        }).pipe(Effect.provideService(HttpClient.HttpClient, http))
      )
      return SpeechProviders.of({ all, withKey })
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))
