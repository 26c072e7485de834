import { CredentialsInvalid } from "@berth/domain/accounts/password/PasswordCredentials"
import { AccountSuspended } from "@berth/domain/sessions/SessionErrors"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { plainErrorBody } from "../http/ErrorBody.ts"
import { optionalText, payload, RequiredSecretText, RequiredText } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { AuthenticationErrors } from "../sessions/SessionAuth.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { SignInLimit, RateLimitExceededBody } from "../limits/RateLimits.ts"
import { UserId } from "@berth/domain/shared/UserId"

const CredentialsInvalidBody = plainErrorBody(CredentialsInvalid, {
  status: 401,
  error: "Invalid credentials",
  message: "Email or password is incorrect."
})

export const AccountSuspendedBody = plainErrorBody(AccountSuspended, {
  status: 403,
  error: "Account suspended",
  message: "This account is suspended. Contact the operator of this service."
})

const credentialFields = { email: RequiredText, password: RequiredSecretText }

export const SignedIn = Schema.Struct({
  user: Schema.Struct({ id: UserId, email: Schema.String, name: Schema.String }),
  url: Schema.String.annotations({ description: "Path to continue at, on this service" })
}).annotations({ identifier: "SignedIn" })

/** JSON returns JSON; a form redirects. Both set the session cookie. */
const credentials = HttpApiEndpoint.post("credentials", "/api/auth/callback/credentials")
  .setPayload(
    Schema.Union(
      payload({ ...credentialFields, callbackUrl: optionalText }),
      payload({ ...credentialFields, callbackUrl: Schema.optional(Schema.String) }).pipe(
        HttpApiSchema.withEncoding({ kind: "UrlParams", contentType: "application/x-www-form-urlencoded" })
      )
    )
  )
  .addSuccess(SignedIn)
  .addSuccess(Schema.Void, { status: 302 })
  .addError(CredentialsInvalidBody)
  .addError(AccountSuspendedBody)
  .addError(RateLimitExceededBody)
  .middleware(SignInLimit)
  .annotate(OpenApi.Summary, "Sign in with email and password")

/** Ends the session, if any. API keys cannot sign out. */
const signOut = HttpApiEndpoint.post("signOut", "/api/auth/signout")
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(AuthenticationErrors)
  .annotate(OpenApi.Summary, "Sign out")

/** User and expiry of the session; null without one. */
export const CurrentSession = Schema.Struct({
  user: Schema.NullOr(Schema.Struct({ id: UserId, email: Schema.String, name: Schema.String })),
  expiresAt: Schema.NullOr(Timestamp)
}).annotations({ identifier: "CurrentSession" })

const current = HttpApiEndpoint.get("current", "/api/auth/session")
  .addSuccess(CurrentSession)
  .addError(AuthenticationErrors)
  .annotate(OpenApi.Summary, "Retrieve the session of the caller")

export class SignInApi extends HttpApiGroup.make("signin")
  .add(credentials)
  .add(signOut)
  .add(current)
  .addError(InternalFailureBody) {}
