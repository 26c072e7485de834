import { Layer, Option, Record } from "effect"
import * as OpenRouterModelCatalog from "../ai/catalog/OpenRouterModelCatalog.ts"
import * as ConfiguredModelProviders from "../ai/ConfiguredModelProviders.ts"
import * as ConfiguredSpeechProviders from "../ai/ConfiguredSpeechProviders.ts"
import * as HttpModelKeyVerifier from "../ai/HttpModelKeyVerifier.ts"
import type { ProviderSettings, Settings } from "../configuration/Settings.ts"

const access = ({ apiKey, baseUrl }: ProviderSettings) =>
  Option.match(apiKey, { onNone: () => undefined, onSome: (key) => ({ apiKey: key, baseUrl }) })

const readBaseUrls = ({ providers }: Settings) => Record.map(providers, ({ baseUrl }) => baseUrl)

const isSandboxEnabled = (settings: Settings) =>
  Option.getOrElse(settings.sandboxModel, () => settings.environment === "development")

/** Whether only the sandbox replies, since no provider has a key. */
export const hasSandboxOnly = (settings: Settings) =>
  isSandboxEnabled(settings) && Object.values(settings.providers).every(({ apiKey }) => Option.isNone(apiKey))

/** Verifies keys of owners with their providers. */
export const keyVerifierFromSettings = (settings: Settings) => HttpModelKeyVerifier.layer(readBaseUrls(settings))

/** The model providers and their catalog. */
export const modelsFromSettings = (settings: Settings) => {
  const { anthropic, google, groq, openai, openrouter } = settings.providers
  return OpenRouterModelCatalog.layer({ openRouterUrl: openrouter.baseUrl }).pipe(
    Layer.provideMerge(
      ConfiguredModelProviders.layer({
        openrouter: access(openrouter),
        openai: access(openai),
        anthropic: access(anthropic),
        google: access(google),
        groq: access(groq),
        sandbox: isSandboxEnabled(settings),
        baseUrls: readBaseUrls(settings)
      })
    )
  )
}

export const speechFromSettings = (settings: Settings) => {
  const { groq, openai, openrouter } = settings.providers
  return ConfiguredSpeechProviders.layer({
    openai: access(openai),
    groq: access(groq),
    openrouter: access(openrouter),
    sandbox: isSandboxEnabled(settings),
    baseUrls: readBaseUrls(settings)
  })
}
