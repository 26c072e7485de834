import { HttpApiMiddleware, HttpApiSecurity } from "@effect/platform"
import { Data } from "effect"
import { errorBody } from "./ErrorBody.ts"

/** The caller of a private endpoint did not show the internal key. */
export class InternalKeyIsWrong extends Data.TaggedError("InternalKeyIsWrong")<object> {}

export const InternalKeyIsWrongBody = errorBody(InternalKeyIsWrong, {
  status: 401,
  code: "internal_key_required",
  error: "Unauthorized",
  message: "This endpoint is private to the service.",
  read: () => new InternalKeyIsWrong()
})

/** Only the service's own processes pass: `Authorization: Bearer <INTERNAL_API_KEY>`. */
export class InternalAuth extends HttpApiMiddleware.Tag<InternalAuth>()("InternalAuth", {
  failure: InternalKeyIsWrongBody,
  security: { internal: HttpApiSecurity.bearer }
}) {}
