import { OAuthProviders } from "@berth/domain/signin/oauth/OAuthProvider"
import { type Duration, Effect, Layer, Option } from "effect"
import type { OAuthASettings, OAuthBSettings, SocialIdentitySettings } from "../configuration/SignInSettings.ts"
import type { Settings } from "../configuration/Settings.ts"
import * as JwksSocialIdentityTokens from "../oauth/JwksSocialIdentityTokens.ts"
import { makeOAuth2Provider } from "../oauth/OAuth2Provider.ts"
import { makeOpenIdConnectProvider } from "../oauth/OpenIdConnectProvider.ts"

export interface SignInWiringOptions {
  readonly appUrl: URL
  readonly oauthA: OAuthASettings
  readonly oauthB: OAuthBSettings
  readonly socialIdentity: SocialIdentitySettings
  /** How long one exchange with a provider may take; 5 s when absent. */
  readonly timeout?: Duration.Duration
}

/** Whoever else can say who somebody is. */
export const layer = ({ appUrl, oauthA, oauthB, socialIdentity, ...patience }: SignInWiringOptions) => {
  const returnTo = (name: string) => new URL(`/api/auth/${name}/callback`, appUrl.origin)
  const { audience, issuer, jwksUrl } = socialIdentity
  return Layer.merge(
    Layer.effect(
      OAuthProviders,
      Effect.gen(function* () {
        const a = Option.map(oauthA.client, (client) =>
          makeOpenIdConnectProvider({
            issuer: oauthA.issuer,
            ...client,
            ...patience,
            redirectUri: returnTo("oauthA")
          })
        )
        const b = Option.map(oauthB.client, (client) =>
          makeOAuth2Provider({ ...oauthB.endpoints, ...client, ...patience, redirectUri: returnTo("oauthB") })
        )
        return { oauthA: yield* Effect.transposeOption(a), oauthB: b }
      })
    ),
    JwksSocialIdentityTokens.layer({
      jwksUrl,
      issuer,
      audience: Option.getOrElse(audience, () => appUrl.host),
      ...patience
    })
  )
}

/** The same for a process with these settings. */
export const fromSettings = ({ addresses, oauthA, oauthB, socialIdentity }: Settings) =>
  layer({ appUrl: addresses.appUrl, oauthA, oauthB, socialIdentity })
