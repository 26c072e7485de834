import { type SpeechVendor, speechVendors } from "@berth/domain/gateway/speech/SpeechModel"
import { SpeechProviders } from "@berth/domain/gateway/speech/SpeechProviders"
import { Effect, Layer } from "effect"
import type { ModelProvidersOptions } from "./ConfiguredModelProviders.ts"
import { makeOpenAiSpeechProvider } from "./openai/OpenAiSpeechProvider.ts"
import { makeOwnerKeyProviders } from "./OwnerKeyProviders.ts"
import { providerUrls } from "./ProviderUrls.ts"
import { sandboxSpeechProvider } from "./sandbox/SandboxSpeechProvider.ts"

type SpeechProvidersOptions = Pick<ModelProvidersOptions, SpeechVendor | "baseUrls"> & {
  /** Whether to enable the sandbox; never in production. */
  readonly sandbox: boolean
}

export const layer = (options: SpeechProvidersOptions): Layer.Layer<SpeechProviders> =>
  Layer.effect(
    SpeechProviders,
    Effect.gen(function* () {
      const configured = speechVendors.flatMap((name) => {
        const access = options[name]
        return access === undefined
          ? []
          : [makeOpenAiSpeechProvider(name, access.apiKey, access.baseUrl ?? providerUrls[name])]
      })
      const withKey = yield* makeOwnerKeyProviders((name: SpeechVendor, apiKey) =>
        makeOpenAiSpeechProvider(name, apiKey, options.baseUrls?.[name] ?? options[name]?.baseUrl ?? providerUrls[name])
      )
      return SpeechProviders.of({ all: [...configured, ...(options.sandbox ? [sandboxSpeechProvider] : [])], withKey })
    })
  )
