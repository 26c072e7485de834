import type { User } from "@berth/domain/shared/User"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { Principal } from "@berth/domain/sessions/Principal"
import { RecentSignInRequired } from "@berth/domain/sessions/RecentSignIn"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context, type Option, Schema } from "effect"
import { plainErrorBody } from "../http/ErrorBody.ts"
import { ScopeMissingBody } from "./RequiredScope.ts"

export const AuthenticationRequiredBody = plainErrorBody(AuthenticationRequired, {
  status: 401,
  error: "Unauthorized",
  message: "Sign in, or send a valid bearer token."
})

export const RecentSignInRequiredBody = plainErrorBody(RecentSignInRequired, {
  status: 403,
  error: "Recent sign-in required",
  message: "Your sign-in is more than 10 minutes old. Sign in again, then repeat the request."
})

/** Documentation only, since the name depends on configuration (`__Host-` on https, the port in development). */
export const sessionCookie = HttpApiSecurity.apiKey({ in: "cookie", key: "berth_session" }).pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "The session cookie, set at sign-in")
)

export const AuthenticationErrors = Schema.Union(AuthenticationRequiredBody, ScopeMissingBody)

/** Requires a session; rejects API keys. */
export class SessionAuth extends HttpApiMiddleware.Tag<SessionAuth>()("SessionAuth", {
  provides: CurrentUser,
  failure: AuthenticationErrors,
  security: { session: sessionCookie }
}) {}

/** Requires a session, or an API key with the scope declared by `acceptApiKeys`. */
export class PrincipalAuth extends HttpApiMiddleware.Tag<PrincipalAuth>()("PrincipalAuth", {
  provides: Principal,
  failure: AuthenticationErrors,
  security: { session: sessionCookie }
}) {}

export class OptionalUser extends Context.Tag("@berth/OptionalUser")<OptionalUser, Option.Option<User>>() {}

/** Provides the user of a session or API key, if any. 401 only for an invalid bearer token. */
export class OptionalPrincipalAuth extends HttpApiMiddleware.Tag<OptionalPrincipalAuth>()("OptionalPrincipalAuth", {
  provides: OptionalUser,
  failure: AuthenticationErrors
}) {}
