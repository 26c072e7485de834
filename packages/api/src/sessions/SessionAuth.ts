import type { User } from "@berth/domain/accounts/User"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { NotSignedIn } from "@berth/domain/sessions/SessionErrors"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context, type Option } from "effect"
import { errorBody } from "../http/ErrorBody.ts"

export const NotSignedInBody = errorBody(NotSignedIn, {
  status: 401,
  code: "unauthorized",
  error: "Unauthorized",
  message: "Sign in first: this needs a valid session.",
  read: () => new NotSignedIn()
})

/** The session cookie. Its name carries `__Host-` on https and the port in development, so it is read from the request by configuration. */
export const sessionCookie = HttpApiSecurity.apiKey({ in: "cookie", key: "berth_session" }).pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "The session cookie set at sign-in")
)

/** Only signed-in users pass. */
export class SessionAuth extends HttpApiMiddleware.Tag<SessionAuth>()("SessionAuth", {
  provides: CurrentUser,
  failure: NotSignedInBody,
  security: { session: sessionCookie }
}) {}

/** The signed-in user if there is one. */
export class MaybeUser extends Context.Tag("@berth/MaybeUser")<MaybeUser, Option.Option<User>>() {}

/** Everybody passes; who is signed in is known. */
export class OptionalSessionAuth extends HttpApiMiddleware.Tag<OptionalSessionAuth>()("OptionalSessionAuth", {
  provides: MaybeUser
}) {}
