import { AdministratorRequired } from "@berth/domain/administration/AdministrationErrors"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiMiddleware } from "@effect/platform"
import { Schema } from "effect"
import { errorBody } from "../http/ErrorBody.ts"
import { AuthenticationRequiredBody, sessionCookie } from "../sessions/SessionAuth.ts"

export const AdministratorRequiredBody = errorBody(AdministratorRequired, {
  status: 403,
  error: "Administrator required",
  message: "This route is for administrators: users whose verified email address is in `ADMIN_EMAILS`.",
  read: () => new AdministratorRequired()
})

/** 401 without a session, then 403 for everyone but administrators. */
export class AdministratorAuth extends HttpApiMiddleware.Tag<AdministratorAuth>()("AdministratorAuth", {
  provides: CurrentUser,
  failure: Schema.Union(AuthenticationRequiredBody, AdministratorRequiredBody),
  security: { session: sessionCookie }
}) {}
