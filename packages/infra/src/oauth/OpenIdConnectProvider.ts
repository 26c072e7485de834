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
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo
} from "openid-client"
import { toOAuthFailure, toProviderUnavailable } from "./OAuthFailures.ts"
import { allowHttp } from "./LocalProviderAccess.ts"
import { isSecureUrl, makeProviderFetch } from "./ProviderFetch.ts"

export interface OpenIdConnectProviderOptions {
  readonly issuer: URL
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  /** Where the provider sends browsers back to. */
  readonly redirectUri: URL
  /** How long one exchange may take; 5 s when absent. */
  readonly timeout?: Duration.Duration
}

/** What a provider says of itself changes seldom; its keys are kept by the library, and looked up again when one is new. */
const discoveryLifetime = Duration.hours(1)

/** `email_verified` is a boolean; some providers write it as text. */
const Claims = Schema.Struct({
  sub: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)),
  email: Schema.optional(Schema.String),
  email_verified: Schema.optional(Schema.Union(Schema.Boolean, Schema.Literal("true", "false"))),
  name: Schema.optional(Schema.String)
})
const decodeClaims = Schema.decodeUnknown(Claims)

const identityOf = (claims: typeof Claims.Type, issuer: string): VerifiedIdentity => {
  const isVerified = claims.email_verified === true || claims.email_verified === "true"
  return {
    provider: "oauthA",
    issuer,
    subject: claims.sub,
    email: isVerified ? Option.flatMap(Option.fromNullable(claims.email), parseEmail) : Option.none(),
    name: Option.fromNullable(claims.name)
  }
}

/** An OpenID Connect provider, found by its issuer. Its ID tokens are checked in full, their signatures too. */
export const makeOpenIdConnectProvider = ({
  clientId,
  clientSecret,
  issuer,
  redirectUri,
  timeout = Duration.seconds(5)
}: OpenIdConnectProviderOptions): Effect.Effect<OAuthProvider> =>
  Effect.gen(function* () {
    const fetch = makeProviderFetch({ timeoutMillis: Duration.toMillis(timeout) })
    const isLocal = issuer.protocol === "http:"

    /** Whoever takes the secret in the body is sent it there; by the standard it goes in the header, coded in a way that not everybody reads. */
    const authentication = (methods: ReadonlyArray<string> | undefined) => {
      const secret = Redacted.value(clientSecret)
      return methods?.includes("client_secret_post") === true ? ClientSecretPost(secret) : ClientSecretBasic(secret)
    }

    const discover = async () => {
      const found = await discovery(issuer, clientId, undefined, undefined, {
        [customFetch]: fetch,
        ...(isLocal ? { execute: [allowHttp] } : {})
      })
      const server = found.serverMetadata()
      const configuration = new Configuration(
        server,
        clientId,
        { redirect_uris: [redirectUri.href] },
        authentication(server.token_endpoint_auth_methods_supported)
      )
      configuration[customFetch] = fetch
      if (isLocal) allowHttp(configuration)
      enableNonRepudiationChecks(configuration)
      return configuration
    }

    const known = yield* Cache.makeWith({
      capacity: 1,
      lookup: () => Effect.tryPromise({ try: discover, catch: toProviderUnavailable }),
      timeToLive: Exit.match({ onFailure: () => Duration.zero, onSuccess: () => discoveryLifetime })
    })
    // One caller that goes away must not take the answer from those who wait for the same one.
    const configured = known.get("it").pipe(
      Effect.tapError(() => known.invalidate("it")),
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
      return isSecureUrl(url)
        ? url
        : yield* new OAuthProviderUnavailable({ reason: "its authorization endpoint is not safe" })
    })

    const identify = Effect.fn("OpenIdConnectProvider.identify")(function* (
      query: Redacted.Redacted<URLSearchParams>,
      { codeVerifier, nonce, state }: OAuthSecrets
    ) {
      const configuration = yield* configured
      const returned = new URL(redirectUri)
      returned.search = Redacted.value(query).toString()
      const tokens = yield* Effect.tryPromise({
        try: () =>
          authorizationCodeGrant(configuration, returned, {
            expectedState: Redacted.value(state),
            expectedNonce: Redacted.value(nonce),
            pkceCodeVerifier: Redacted.value(codeVerifier),
            idTokenExpected: true
          }),
        catch: toOAuthFailure
      })
      const claims = tokens.claims()
      if (claims === undefined) return yield* new OAuthResponseRejected({ reason: "there is no ID token" })
      // Some put the address in the ID token, the others tell it to who asks.
      const told =
        claims.email === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
          ? yield* Effect.tryPromise({
              try: () => fetchUserInfo(configuration, tokens.access_token, claims.sub),
              catch: toOAuthFailure
            })
          : claims
      const read = yield* Effect.mapError(
        decodeClaims({ ...told, name: claims["name"] ?? told["name"] }),
        () => new OAuthResponseRejected({ reason: "its claims are not what they should be" })
      )
      return identityOf(read, configuration.serverMetadata().issuer)
    })

    return { authorizationUrl, identify }
  })
