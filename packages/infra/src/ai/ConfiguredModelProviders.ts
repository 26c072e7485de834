import { type ModelProvider, ModelProviders } from "@berth/domain/ai/models/ModelProviders"
import { ProviderName } from "@berth/domain/ai/models/Model"
import { Effect, Layer, type Redacted } from "effect"
import { makeModelClient } from "./ModelClients.ts"
import { makeOwnerKeyProviders } from "./OwnerKeyProviders.ts"
import { type KeyedProviderName, providerUrls } from "./ProviderUrls.ts"
import { sandboxModelProvider } from "./sandbox/SandboxModelProvider.ts"
import { makeVendorModelProvider } from "./vendor/VendorModelProvider.ts"

interface ProviderAccess {
  readonly apiKey: Redacted.Redacted
  /** Including the version. Default: the vendor's address. */
  readonly baseUrl?: string | undefined
}

/** Only providers with an entry are configured. */
export type ModelProvidersOptions = { readonly [name in KeyedProviderName]?: ProviderAccess | undefined } & {
  readonly sandbox?: boolean
  /** Base URLs for owners' keys. Default: the vendors' addresses. */
  readonly baseUrls?: { readonly [name in KeyedProviderName]?: string } | undefined
}

export const makeModelProvider = (
  name: KeyedProviderName,
  { apiKey, baseUrl = providerUrls[name] }: ProviderAccess
): ModelProvider => makeVendorModelProvider(name, apiKey, makeModelClient(name, { apiKey, baseUrl }))

/** Configured providers, in the order of attempts. */
export const layer = (options: ModelProvidersOptions): Layer.Layer<ModelProviders> =>
  Layer.effect(
    ModelProviders,
    Effect.gen(function* () {
      const all = ProviderName.literals.flatMap((name): ReadonlyArray<ModelProvider> => {
        if (name === "sandbox") return options.sandbox === true ? [sandboxModelProvider] : []
        const access = options[name]
        return access === undefined ? [] : [makeModelProvider(name, access)]
      })
      const withKey = yield* makeOwnerKeyProviders((name: KeyedProviderName, apiKey) =>
        makeModelProvider(name, { apiKey, baseUrl: options.baseUrls?.[name] ?? options[name]?.baseUrl })
      )
      return ModelProviders.of({ all, withKey })
    })
  )
