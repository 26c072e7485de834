import { HttpApiMiddleware, HttpApiSecurity } from "@effect/platform"
import { Data } from "effect"
import { plainErrorBody } from "./ErrorBody.ts"

/** The caller of a private endpoint has no valid internal key. */
export class InternalKeyRequired extends Data.TaggedError("InternalKeyRequired")<object> {}

export const InternalKeyRequiredBody = plainErrorBody(InternalKeyRequired, {
  status: 401,
  error: "Unauthorized",
  message: "This endpoint is private to the service."
})

/** Requires the key of the service's processes: `Authorization: Bearer <INTERNAL_API_KEY>`. */
export class InternalAuth extends HttpApiMiddleware.Tag<InternalAuth>()("InternalAuth", {
  failure: InternalKeyRequiredBody,
  security: { internal: HttpApiSecurity.bearer }
}) {}
