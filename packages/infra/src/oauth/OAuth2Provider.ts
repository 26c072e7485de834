import { parseEmail } from "@berth/domain/shared/Email"
import {
  OAuthResponseRejected,
  type OAuthProvider,
  type OAuthProviderUnavailable,
  type OAuthSecrets
} from "@berth/domain/signin/oauth/OAuthProvider"
import { Duration, Effect, Option, Redacted, Schema } from "effect"
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  Configuration,
  customFetch
} from "openid-client"
import { toOAuthFailure } from "./OAuthFailures.ts"
import {
  allowHttp,
  makeProviderFetch,
  makeClientAuthentication,
  type OAuthRegistration,
  readCallback
} from "./ProviderFetch.ts"

interface OAuth2ProviderOptions extends OAuthRegistration {
  readonly authorizeUrl: URL
  readonly tokenUrl: URL
  /** Returns the profile of the token's user: `id`, `login`, `name`. */
  readonly userUrl: URL
  /** Returns the addresses of the token's user: a list of `email`, `primary`, `verified`. */
  readonly emailsUrl: URL
}

const UserProfile = Schema.Struct({
  id: Schema.Union(Schema.Int.pipe(Schema.positive()), Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255))),
  login: Schema.optional(Schema.NullOr(Schema.String)),
  name: Schema.optional(Schema.NullOr(Schema.String))
})
const EmailAddresses = Schema.Array(
  Schema.Struct({ email: Schema.String, primary: Schema.optional(Schema.Boolean), verified: Schema.Boolean })
)

/** Returns the primary address if verified, else the first verified one. */
const verifiedEmail = (addresses: typeof EmailAddresses.Type) => {
  const verified = addresses.filter((address) => address.verified)
  const chosen = verified.find(({ primary }) => primary === true) ?? verified[0]
  return Option.flatMap(Option.fromNullable(chosen), ({ email }) => parseEmail(email))
}

/** GitHub requires a user agent, and selects its current format by `accept`. */
const headers = { accept: "application/vnd.github+json, application/json", "user-agent": "berth" }

/** OAuth 2 provider compatible with GitHub: reads the identity from its API with the access token. */
export const makeOAuth2Provider = ({
  authorizeUrl,
  clientAuthentication,
  clientId,
  clientSecret,
  emailsUrl,
  redirectUri,
  timeout = Duration.seconds(5),
  tokenUrl,
  userUrl
}: OAuth2ProviderOptions): OAuthProvider => {
  const fetch = makeProviderFetch(timeout)
  const issuer = authorizeUrl.origin
  const configuration = new Configuration(
    { issuer, authorization_endpoint: authorizeUrl.href, token_endpoint: tokenUrl.href },
    clientId,
    {},
    makeClientAuthentication(clientAuthentication, clientSecret)
  )
  configuration[customFetch] = fetch
  if (tokenUrl.protocol === "http:") allowHttp(configuration)

  const getJson = Effect.fnUntraced(function* <A, I>(
    schema: Schema.Schema<A, I>,
    url: URL,
    token: Redacted.Redacted
  ): Effect.fn.Return<A, OAuthProviderUnavailable | OAuthResponseRejected> {
    const response = yield* Effect.tryPromise({
      try: () => fetch(url, { headers: { ...headers, authorization: `Bearer ${Redacted.value(token)}` } }),
      catch: toOAuthFailure
    })
    if (!response.ok) return yield* new OAuthResponseRejected({ reason: `HTTP ${response.status}` })
    const body = yield* Effect.tryPromise({ try: () => response.text(), catch: toOAuthFailure })
    return yield* Effect.mapError(
      Schema.decodeUnknown(Schema.parseJson(schema))(body),
      () => new OAuthResponseRejected({ reason: "malformed response" })
    )
  })

  return {
    authorizationUrl: Effect.fn("OAuth2Provider.authorizationUrl")(function* ({ codeVerifier, state }: OAuthSecrets) {
      const challenge = yield* Effect.promise(() => calculatePKCECodeChallenge(Redacted.value(codeVerifier)))
      return buildAuthorizationUrl(configuration, {
        response_type: "code",
        redirect_uri: redirectUri.href,
        scope: "read:user user:email",
        state: Redacted.value(state),
        code_challenge: challenge,
        code_challenge_method: "S256"
      })
    }),
    identify: Effect.fn("OAuth2Provider.identify")(function* (
      query: Redacted.Redacted<URLSearchParams>,
      { codeVerifier, state }: OAuthSecrets
    ) {
      const { access_token } = yield* Effect.tryPromise({
        try: () =>
          authorizationCodeGrant(configuration, readCallback(redirectUri, query), {
            expectedState: Redacted.value(state),
            pkceCodeVerifier: Redacted.value(codeVerifier)
          }),
        catch: toOAuthFailure
      })
      const token = Redacted.make(access_token)
      const profile = yield* getJson(UserProfile, userUrl, token)
      const addresses = yield* getJson(EmailAddresses, emailsUrl, token)
      return {
        provider: "oauthB" as const,
        issuer,
        subject: String(profile.id),
        email: verifiedEmail(addresses),
        name: Option.fromNullable(profile.name ?? profile.login)
      }
    })
  }
}
