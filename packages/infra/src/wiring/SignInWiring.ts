import { OAuthProviders } from "@berth/domain/signin/oauth/OAuthProvider"
import { type Duration, Effect, Layer, Option } from "effect"
import type { OAuthASettings, OAuthBSettings, SocialIdentitySettings } from "../configuration/SignInSettings.ts"
import type { Settings } from "../configuration/Settings.ts"
import * as JwksSocialIdentityTokens from "../oauth/JwksSocialIdentityTokens.ts"
import { makeOAuth2Provider } from "../oauth/OAuth2Provider.ts"
import { makeOpenIdConnectProvider } from "../oauth/OpenIdConnectProvider.ts"

interface SignInWiringOptions {
  readonly appUrl: URL
  readonly oauthA: OAuthASettings
  readonly oauthB: OAuthBSettings
  readonly socialIdentity: SocialIdentitySettings
  /** Timeout of one exchange with a provider; default: 5 s. */
  readonly timeout?: Duration.Duration
}

export const layer = ({ appUrl, oauthA, oauthB, socialIdentity, ...limits }: SignInWiringOptions) => {
  const makeRedirectUri = (name: string) => new URL(`/api/auth/${name}/callback`, appUrl.origin)
  const { audience, issuer, jwksUrl } = socialIdentity
  return Layer.merge(
    Layer.effect(
      OAuthProviders,
      Effect.gen(function* () {
        const a = Option.map(oauthA.client, (client) =>
          makeOpenIdConnectProvider({
            issuer: oauthA.issuer,
            clientAuthentication: oauthA.clientAuthentication,
            ...client,
            ...limits,
            redirectUri: makeRedirectUri("oauthA")
          })
        )
        const b = Option.map(oauthB.client, (client) =>
          makeOAuth2Provider({
            ...oauthB.endpoints,
            clientAuthentication: oauthB.clientAuthentication,
            ...client,
            ...limits,
            redirectUri: makeRedirectUri("oauthB")
          })
        )
        return { oauthA: yield* Effect.transposeOption(a), oauthB: b }
      })
    ),
    JwksSocialIdentityTokens.layer({
      jwksUrl,
      issuer,
      audience: Option.getOrElse(audience, () => appUrl.host),
      ...limits
    })
  )
}

export const fromSettings = ({ addresses, oauthA, oauthB, socialIdentity }: Settings) =>
  layer({ appUrl: addresses.appUrl, oauthA, oauthB, socialIdentity })
