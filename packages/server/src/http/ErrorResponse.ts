import { HttpApiSchema, HttpServerResponse } from "@effect/platform"
import { Schema } from "effect"

/** Makes the response of an error outside of an endpoint, from its body in the contract. */
export const makeErrorResponse = <A, I>(
  body: Schema.Schema<A, I>,
  error: A,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(Schema.encodeSync(body)(error), {
    status: HttpApiSchema.getStatusError(body),
    headers
  })
