import { Principal } from "@berth/domain/sessions/Principal"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Data, Schema } from "effect"
import { plainErrorBody } from "../http/ErrorBody.ts"
import { ScopeMissingBody } from "./RequiredScope.ts"

/** The request has no valid access token. */
export class AccessTokenRequired extends Data.TaggedError("AccessTokenRequired")<object> {}

const AccessTokenRequiredBody = plainErrorBody(AccessTokenRequired, {
  status: 401,
  error: "Unauthorized",
  message: "Send `Authorization: Bearer` with a valid token of POST /api/auth/token, or an API key."
})

/** Requires `Authorization: Bearer`: an access token, or an API key with the scope of the route. */
export class BearerAuth extends HttpApiMiddleware.Tag<BearerAuth>()("BearerAuth", {
  provides: Principal,
  failure: Schema.Union(AccessTokenRequiredBody, ScopeMissingBody),
  security: { jwt: HttpApiSecurity.bearer.pipe(HttpApiSecurity.annotate(OpenApi.Format, "JWT")) }
}) {}
