import { HttpApiMiddleware, HttpApiSecurity } from "@effect/platform"
import { Data } from "effect"
import { plainErrorBody } from "./ErrorBody.ts"

/** The caller of a private endpoint did not show the internal key. */
export class InternalKeyRequired extends Data.TaggedError("InternalKeyRequired")<object> {}

export const InternalKeyRequiredBody = plainErrorBody(InternalKeyRequired, {
  status: 401,
  error: "Unauthorized",
  message: "This endpoint is private to the service."
})

/** Only the service's own processes pass: `Authorization: Bearer <INTERNAL_API_KEY>`. */
export class InternalAuth extends HttpApiMiddleware.Tag<InternalAuth>()("InternalAuth", {
  failure: InternalKeyRequiredBody,
  security: { internal: HttpApiSecurity.bearer }
}) {}
