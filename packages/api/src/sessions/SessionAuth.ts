import type { User } from "@berth/domain/shared/User"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context, type Option } from "effect"
import { errorBody } from "../http/ErrorBody.ts"

export const AuthenticationRequiredBody = errorBody(AuthenticationRequired, {
  status: 401,
  code: "unauthorized",
  error: "Unauthorized",
  message: "Sign in first: this needs a valid session.",
  read: () => new AuthenticationRequired()
})

/** The session cookie. Its name carries `__Host-` on https and the port in development, so it is read from the request by configuration. */
export const sessionCookie = HttpApiSecurity.apiKey({ in: "cookie", key: "berth_session" }).pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "The session cookie set at sign-in")
)

/** Only signed-in users pass. */
export class SessionAuth extends HttpApiMiddleware.Tag<SessionAuth>()("SessionAuth", {
  provides: CurrentUser,
  failure: AuthenticationRequiredBody,
  security: { session: sessionCookie }
}) {}

/** The signed-in user if there is one. */
export class OptionalUser extends Context.Tag("@berth/OptionalUser")<OptionalUser, Option.Option<User>>() {}

/** Everybody passes; who is signed in is known. */
export class OptionalSessionAuth extends HttpApiMiddleware.Tag<OptionalSessionAuth>()("OptionalSessionAuth", {
  provides: OptionalUser
}) {}
