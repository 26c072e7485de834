import { Context, Duration, Effect, Layer, Option, Redacted } from "effect"
import type { JWTPayload } from "jose"
import { unique } from "../Samples.ts"
import * as App from "../WebApp.ts"
import { begin, comeBack } from "./Browser.ts"
import { type Issuer, makeIssuer, tokenBy } from "./Issuer.ts"

/*
 * Sign-in at an OpenID Connect issuer whose tokens are what a test says.
 */

export const clientId = "berth-test"
export const clientSecret = "a secret that is long enough to sign by"

/** The issuer. */
export class Forger extends Context.Tag("@berth/test/Forger")<Forger, Issuer>() {}

/** The service with that issuer as provider A. */
export const app = (options: App.WebAppOptions = {}) =>
  Layer.unwrapScoped(
    Effect.map(makeIssuer, (issuer) =>
      Layer.merge(
        App.layer({
          ...options,
          oauthA: {
            issuer: issuer.origin,
            client: Option.some({ clientId, clientSecret: Redacted.make(clientSecret) })
          },
          providerTimeout: Duration.seconds(3)
        }),
        Layer.succeed(Forger, issuer)
      )
    )
  )

export const leadsTo = (answer: {
  readonly status: number
  readonly headers: { readonly location?: string | undefined }
}) => `${answer.status} ${answer.headers.location ?? ""}`
export const failed = (code: string) => `302 /login?error=${code}`

/** Now, as tokens say it. */
export const seconds = () => Math.floor(new Date().getTime() / 1000)

export interface Sign {
  /** What a right token says. */
  readonly claims: JWTPayload
  readonly issuer: Issuer
}

/** A sign-in whose ID token is what `make` says, with another query where one is wanted. */
export const signInBy = (
  make: (given: Sign) => string | Promise<string>,
  options: { readonly query?: Readonly<Record<string, string>>; readonly from?: string; readonly subject?: string } = {}
) =>
  Effect.gen(function* () {
    const issuer = yield* Forger
    const begun = yield* begin("oauthA")
    const asked = new URL(begun.location).searchParams
    const subject = options.subject ?? (yield* unique("subject"))
    const claims = {
      iss: issuer.origin.origin,
      aud: clientId,
      sub: subject,
      iat: seconds(),
      exp: seconds() + 300,
      nonce: asked.get("nonce") ?? "",
      email: `${subject}@example.com`,
      email_verified: true
    }
    const token = yield* Effect.promise(async () => make({ claims, issuer }))
    issuer.answerWith(() => ({ access_token: "at", token_type: "Bearer", expires_in: 60, id_token: token }))
    const query = new URLSearchParams({ code: "a-code", state: asked.get("state") ?? "", ...options.query })
    return yield* comeBack(
      new URL(`http://localhost/api/auth/oauthA/callback?${query.toString()}`),
      begun.cookie,
      options.from === undefined ? {} : { from: options.from }
    )
  })

export const right = ({ claims, issuer }: Sign) => tokenBy(issuer.key, claims)
/** A right token but for some claims; `undefined` takes one away. */
export const saying =
  (changes: (given: Sign) => Readonly<Record<string, unknown>>) =>
  ({ claims, issuer }: Sign) =>
    tokenBy(issuer.key, { ...claims, ...changes({ claims, issuer }) })
