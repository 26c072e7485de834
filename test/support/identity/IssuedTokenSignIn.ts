import { Context, Duration, Effect, Layer, Option, Redacted } from "effect"
import type { JWTPayload } from "jose"
import { uniqueName } from "../Samples.ts"
import * as App from "../TestApp.ts"
import { startSignIn, followCallback } from "./OAuthBrowser.ts"
import { type FakeIssuer, makeFakeIssuer, signToken } from "../../fakes/identity/FakeIssuer.ts"

/* Sign-in at an OpenID Connect issuer whose tokens a test creates. */

export const oidcClientId = "berth-test"
export const oidcClientSecret = "a secret that is long enough to sign by"

export class IssuerUnderTest extends Context.Tag("@berth/test/IssuerUnderTest")<IssuerUnderTest, FakeIssuer>() {}

/** The service with that issuer as provider A. */
export const issuerAppLayer = (options: App.TestAppOptions = {}) =>
  Layer.unwrapScoped(
    Effect.map(makeFakeIssuer, (issuer) =>
      Layer.merge(
        App.layer({
          ...options,
          oauthA: {
            issuer: issuer.origin,
            client: Option.some({ clientId: oidcClientId, clientSecret: Redacted.make(oidcClientSecret) })
          },
          providerTimeout: Duration.seconds(3)
        }),
        Layer.succeed(IssuerUnderTest, issuer)
      )
    )
  )

export const describeRedirect = (answer: {
  readonly status: number
  readonly headers: { readonly location?: string | undefined }
}) => `${answer.status} ${answer.headers.location ?? ""}`
export const failureRedirect = (code: string) => `302 /login?error=${code}`

/** The current time in epoch seconds, as in tokens. */
export const epochSeconds = () => Math.floor(new Date().getTime() / 1000)

export interface TokenRequest {
  /** Claims of a valid token. */
  readonly claims: JWTPayload
  readonly issuer: FakeIssuer
}

/** Signs in with the ID token that `make` returns, optionally with another query. */
export const signInWithToken = (
  make: (tokenRequest: TokenRequest) => string | Promise<string>,
  options: { readonly query?: Readonly<Record<string, string>>; readonly from?: string; readonly subject?: string } = {}
) =>
  Effect.gen(function* () {
    const issuer = yield* IssuerUnderTest
    const begun = yield* startSignIn("oauthA")
    const requested = new URL(begun.location).searchParams
    const subject = options.subject ?? (yield* uniqueName("subject"))
    const claims = {
      iss: issuer.origin.origin,
      aud: oidcClientId,
      sub: subject,
      iat: epochSeconds(),
      exp: epochSeconds() + 300,
      nonce: requested.get("nonce") ?? "",
      email: `${subject}@example.com`,
      email_verified: true
    }
    const token = yield* Effect.promise(async () => make({ claims, issuer }))
    issuer.respondToTokenWith(() => ({ access_token: "at", token_type: "Bearer", expires_in: 60, id_token: token }))
    const query = new URLSearchParams({ code: "a-code", state: requested.get("state") ?? "", ...options.query })
    return yield* followCallback(
      new URL(`http://localhost/api/auth/oauthA/callback?${query.toString()}`),
      begun.cookie,
      options.from === undefined ? {} : { from: options.from }
    )
  })

export const validToken = ({ claims, issuer }: TokenRequest) => signToken(issuer.key, claims)
/** A valid token with changed claims; `undefined` removes one. */
export const tokenWithClaims =
  (changes: (tokenRequest: TokenRequest) => Readonly<Record<string, unknown>>) =>
  ({ claims, issuer }: TokenRequest) =>
    signToken(issuer.key, { ...claims, ...changes({ claims, issuer }) })
