import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { payload } from "../../http/Payload.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"

/** Value of `error` in `/login?error=<code>` after a failed sign-in. */
export const OAuthErrorCode = Schema.Literal(
  "oauth_not_configured",
  "oauth_unavailable",
  "oauth_denied",
  "oauth_state",
  "oauth_failed",
  "oauth_email_unverified",
  "oauth_subject_conflict",
  "account_suspended",
  "rate_limit_exceeded"
)
export type OAuthErrorCode = typeof OAuthErrorCode.Type

// Accepts every query, since the handler redirects failures to /login.
const lenientText = (description: string) =>
  Schema.optional(
    Schema.Union(Schema.String, Schema.Array(Schema.String)).annotations({
      description,
      jsonSchema: { type: "string" }
    })
  )

const startQuery = { callbackUrl: lenientText("Path to continue at after the sign-in; default /dashboard") }
const callbackQuery = {
  code: lenientText("Authorization code"),
  state: lenientText("State of the authorization request"),
  error: lenientText("Error code of the provider"),
  iss: lenientText("Issuer (RFC 9207)")
}

/** Redirects to the OpenID Connect provider. */
const oauthA = HttpApiEndpoint.get("oauthA", "/api/auth/oauthA")
  .setUrlParams(payload(startQuery))
  .addSuccess(Schema.Void, { status: 302 })
  .annotate(OpenApi.Summary, "Start a sign-in at OAuth provider A")

/** Redirects to the callback URL with the session cookie, or to /login with an error. */
const oauthACallback = HttpApiEndpoint.get("oauthACallback", "/api/auth/oauthA/callback")
  .setUrlParams(payload(callbackQuery))
  .addSuccess(Schema.Void, { status: 302 })
  .annotate(OpenApi.Summary, "Complete a sign-in at OAuth provider A")

/** Redirects to the OAuth 2 provider. */
const oauthB = HttpApiEndpoint.get("oauthB", "/api/auth/oauthB")
  .setUrlParams(payload(startQuery))
  .addSuccess(Schema.Void, { status: 302 })
  .annotate(OpenApi.Summary, "Start a sign-in at OAuth provider B")

const oauthBCallback = HttpApiEndpoint.get("oauthBCallback", "/api/auth/oauthB/callback")
  .setUrlParams(payload(callbackQuery))
  .addSuccess(Schema.Void, { status: 302 })
  .annotate(OpenApi.Summary, "Complete a sign-in at OAuth provider B")

export class OAuthApi extends HttpApiGroup.make("oauth")
  .add(oauthA)
  .add(oauthACallback)
  .add(oauthB)
  .add(oauthBCallback)
  .addError(InternalFailureBody) {}
