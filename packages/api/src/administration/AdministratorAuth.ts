import { AdministratorRequired } from "@berth/domain/administration/AdministrationErrors"
import { Principal } from "@berth/domain/sessions/Principal"
import { HttpApiMiddleware } from "@effect/platform"
import { Schema } from "effect"
import { plainErrorBody } from "../http/ErrorBody.ts"
import { AuthenticationErrors, sessionCookie } from "../sessions/SessionAuth.ts"

const AdministratorRequiredBody = plainErrorBody(AdministratorRequired, {
  status: 403,
  error: "Administrator required",
  message: "This route is for administrators: users whose verified email address is in `ADMIN_EMAILS`."
})

/** 401 without a credential, then 403 unless the caller is an administrator. */
export class AdministratorAuth extends HttpApiMiddleware.Tag<AdministratorAuth>()("AdministratorAuth", {
  provides: Principal,
  failure: Schema.Union(AuthenticationErrors, AdministratorRequiredBody),
  security: { session: sessionCookie }
}) {}
