import type { User } from "@berth/domain/shared/User"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { RecentSignInRequired } from "@berth/domain/sessions/RecentSignIn"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context, type Option } from "effect"
import { errorBody } from "../http/ErrorBody.ts"

export const AuthenticationRequiredBody = errorBody(AuthenticationRequired, {
  status: 401,
  error: "Unauthorized",
  message: "Sign in: this route requires a valid session.",
  read: () => new AuthenticationRequired()
})

export const RecentSignInRequiredBody = errorBody(RecentSignInRequired, {
  status: 403,
  error: "Recent sign-in required",
  message: "Your sign-in is more than 10 minutes old. Sign in again, then repeat the request.",
  read: () => new RecentSignInRequired()
})

/** Documentation only: the name varies by configuration (`__Host-` on https, the port in development). */
export const sessionCookie = HttpApiSecurity.apiKey({ in: "cookie", key: "berth_session" }).pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "The session cookie set at sign-in")
)

/** Requires a session. */
export class SessionAuth extends HttpApiMiddleware.Tag<SessionAuth>()("SessionAuth", {
  provides: CurrentUser,
  failure: AuthenticationRequiredBody,
  security: { session: sessionCookie }
}) {}

export class OptionalUser extends Context.Tag("@berth/OptionalUser")<OptionalUser, Option.Option<User>>() {}

/** Admits every request and provides its user, if any. */
export class OptionalSessionAuth extends HttpApiMiddleware.Tag<OptionalSessionAuth>()("OptionalSessionAuth", {
  provides: OptionalUser
}) {}
