import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { payload } from "../../http/Payload.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"

/** What `error` says at the address that a sign-in which came to nothing leads to: /login?error=<code>. */
export const OAuthErrorCode = Schema.Literal(
  "oauth_not_configured",
  "oauth_unavailable",
  "oauth_denied",
  "oauth_state",
  "oauth_failed",
  "oauth_email_unverified",
  "rate_limit_exceeded"
)
export type OAuthErrorCode = typeof OAuthErrorCode.Type

// Whatever is wrong with a query leads to /login, so nothing about it is refused earlier.
const anyText = (description: string) =>
  Schema.optional(
    Schema.Union(Schema.String, Schema.Array(Schema.String)).annotations({
      description,
      jsonSchema: { type: "string" }
    })
  )

const start = { callbackUrl: anyText("Where to go once signed in, on this service; /dashboard when absent") }
const back = {
  code: anyText("What the provider gives for a sign-in"),
  state: anyText("What the sign-in was begun with"),
  error: anyText("Why the provider gives none"),
  iss: anyText("Who the provider says it is (RFC 9207)")
}

/** GET /api/auth/oauthA: a redirect to the OpenID Connect provider. */
const oauthA = HttpApiEndpoint.get("oauthA", "/api/auth/oauthA")
  .setUrlParams(payload(start))
  .addSuccess(Schema.Void, { status: 302 })

/** GET /api/auth/oauthA/callback: a redirect to the callback URL with the session cookie, or to /login with an error. */
const oauthABack = HttpApiEndpoint.get("oauthABack", "/api/auth/oauthA/callback")
  .setUrlParams(payload(back))
  .addSuccess(Schema.Void, { status: 302 })

/** GET /api/auth/oauthB: the same for the OAuth 2 provider. */
const oauthB = HttpApiEndpoint.get("oauthB", "/api/auth/oauthB")
  .setUrlParams(payload(start))
  .addSuccess(Schema.Void, { status: 302 })

/** GET /api/auth/oauthB/callback */
const oauthBBack = HttpApiEndpoint.get("oauthBBack", "/api/auth/oauthB/callback")
  .setUrlParams(payload(back))
  .addSuccess(Schema.Void, { status: 302 })

export class OAuthApi extends HttpApiGroup.make("oauth")
  .add(oauthA)
  .add(oauthABack)
  .add(oauthB)
  .add(oauthBBack)
  .addError(InternalFailureBody) {}
