import { Effect, Layer } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import * as JoseAccessTokens from "../crypto/JoseAccessTokens.ts"
import { resolveJwtKey } from "./SecretsWiring.ts"

/** Access tokens of the service at `appUrl`. */
export const layer = ({
  appUrl,
  key
}: Pick<JoseAccessTokens.JoseAccessTokensOptions, "key"> & { readonly appUrl: URL }) =>
  JoseAccessTokens.layer({ key, issuer: appUrl.origin, audience: `${appUrl.origin}/api` })

export const fromSettings = (settings: Settings) =>
  Layer.unwrapEffect(Effect.map(resolveJwtKey(settings), (key) => layer({ key, appUrl: settings.addresses.appUrl })))
