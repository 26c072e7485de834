import { parseEmail } from "@berth/domain/shared/Email"
import type { VerifiedIdentity } from "@berth/domain/signin/identities/LinkedAccounts"
import {
  OAuthResponseRejected,
  type OAuthProvider,
  OAuthProviderUnavailable,
  type OAuthSecrets
} from "@berth/domain/signin/oauth/OAuthProvider"
import { Cache, Duration, Effect, Exit, Option, Redacted, Schema } from "effect"
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo
} from "openid-client"
import { toOAuthFailure, toProviderUnavailable } from "./OAuthFailures.ts"
import {
  allowHttp,
  isSecureUrl,
  makeProviderFetch,
  makeClientAuthentication,
  type OAuthRegistration,
  readCallback
} from "./ProviderFetch.ts"

interface OpenIdConnectProviderOptions extends OAuthRegistration {
  readonly issuer: URL
}

/** Lifetime of the metadata. The library caches the keys, and fetches them again for an unknown key id. */
const discoveryLifetime = Duration.hours(1)

/** Some providers encode `email_verified` as text. */
const Claims = Schema.Struct({
  sub: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)),
  email: Schema.optional(Schema.String),
  email_verified: Schema.optional(Schema.Union(Schema.Boolean, Schema.Literal("true", "false"))),
  name: Schema.optional(Schema.String)
})
const decodeClaims = Schema.decodeUnknown(Claims)

const toIdentity = (claims: typeof Claims.Type, issuer: string): VerifiedIdentity => {
  const isVerified = claims.email_verified === true || claims.email_verified === "true"
  return {
    provider: "oauthA",
    issuer,
    subject: claims.sub,
    email: isVerified ? Option.flatMap(Option.fromNullable(claims.email), parseEmail) : Option.none(),
    name: Option.fromNullable(claims.name)
  }
}

/** OpenID Connect provider with discovery. Validates ID tokens including their signatures. */
export const makeOpenIdConnectProvider = Effect.fnUntraced(function* ({
  clientAuthentication,
  clientId,
  clientSecret,
  issuer,
  redirectUri,
  timeout = Duration.seconds(5)
}: OpenIdConnectProviderOptions): Effect.fn.Return<OAuthProvider> {
  const fetch = makeProviderFetch(timeout)
  const isLocal = issuer.protocol === "http:"

  const discover = async () => {
    const discovered = await discovery(issuer, clientId, undefined, undefined, {
      [customFetch]: fetch,
      ...(isLocal ? { execute: [allowHttp] } : {})
    })
    const configuration = new Configuration(
      discovered.serverMetadata(),
      clientId,
      { redirect_uris: [redirectUri.href] },
      makeClientAuthentication(clientAuthentication, clientSecret)
    )
    configuration[customFetch] = fetch
    if (isLocal) allowHttp(configuration)
    enableNonRepudiationChecks(configuration)
    return configuration
  }

  const metadata = yield* Cache.makeWith({
    capacity: 1,
    lookup: () => Effect.tryPromise({ try: discover, catch: toProviderUnavailable }),
    timeToLive: Exit.match({ onFailure: () => Duration.zero, onSuccess: () => discoveryLifetime })
  })
  // Uninterruptible, since other callers wait for the same lookup.
  const configured = metadata.get("issuer").pipe(
    Effect.tapError(() => metadata.invalidate("issuer")),
    Effect.uninterruptible
  )

  const authorizationUrl = Effect.fn("OpenIdConnectProvider.authorizationUrl")(function* ({
    codeVerifier,
    nonce,
    state
  }: OAuthSecrets) {
    const configuration = yield* configured
    const challenge = yield* Effect.promise(() => calculatePKCECodeChallenge(Redacted.value(codeVerifier)))
    const url = yield* Effect.try({
      try: () =>
        buildAuthorizationUrl(configuration, {
          response_type: "code",
          redirect_uri: redirectUri.href,
          scope: "openid email profile",
          state: Redacted.value(state),
          nonce: Redacted.value(nonce),
          code_challenge: challenge,
          code_challenge_method: "S256"
        }),
      catch: toProviderUnavailable
    })
    return isSecureUrl(url) ? url : yield* new OAuthProviderUnavailable({ reason: "insecure authorization endpoint" })
  })

  const identify = Effect.fn("OpenIdConnectProvider.identify")(function* (
    query: Redacted.Redacted<URLSearchParams>,
    { codeVerifier, nonce, state }: OAuthSecrets
  ) {
    const configuration = yield* configured
    const tokens = yield* Effect.tryPromise({
      try: () =>
        authorizationCodeGrant(configuration, readCallback(redirectUri, query), {
          expectedState: Redacted.value(state),
          expectedNonce: Redacted.value(nonce),
          pkceCodeVerifier: Redacted.value(codeVerifier),
          idTokenExpected: true
        }),
      catch: toOAuthFailure
    })
    const claims = tokens.claims()
    if (claims === undefined) return yield* new OAuthResponseRejected({ reason: "no ID token" })
    // Some providers return the email in the ID token, others only in the userinfo response.
    const profile =
      claims.email === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
        ? yield* Effect.tryPromise({
            try: () => fetchUserInfo(configuration, tokens.access_token, claims.sub),
            catch: toOAuthFailure
          })
        : claims
    const decoded = yield* Effect.mapError(
      decodeClaims({ ...profile, name: claims["name"] ?? profile["name"] }),
      () => new OAuthResponseRejected({ reason: "malformed claims" })
    )
    return toIdentity(decoded, configuration.serverMetadata().issuer)
  })

  return { authorizationUrl, identify }
})
