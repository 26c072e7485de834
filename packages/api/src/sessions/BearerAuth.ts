import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Data } from "effect"
import { errorBody } from "../http/ErrorBody.ts"

/** The request has no valid access token. */
export class AccessTokenRequired extends Data.TaggedError("AccessTokenRequired")<object> {}

export const AccessTokenRequiredBody = errorBody(AccessTokenRequired, {
  status: 401,
  error: "Unauthorized",
  message: "Send `Authorization: Bearer` with a valid token of POST /api/auth/token.",
  read: () => new AccessTokenRequired()
})

/** Requires `Authorization: Bearer <access token>`. */
export class BearerAuth extends HttpApiMiddleware.Tag<BearerAuth>()("BearerAuth", {
  provides: CurrentUser,
  failure: AccessTokenRequiredBody,
  security: { jwt: HttpApiSecurity.bearer.pipe(HttpApiSecurity.annotate(OpenApi.Format, "JWT")) }
}) {}
