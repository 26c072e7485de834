import { type Duration, Option, Schema } from "effect"
import { makeVendorErrorBodyReader } from "../vendor/VendorErrorBody.ts"
import { VendorRequestRejected } from "../vendor/VendorErrors.ts"
import { AnthropicErrorBody, AnthropicErrorDetails, type AnthropicError } from "./AnthropicBodies.ts"

/** An error object, with the status of its answer where that was not 200. */
export const readAnthropicError = (
  error: AnthropicError,
  status: number | null,
  retryAfter: Duration.Duration | undefined
): VendorRequestRejected =>
  new VendorRequestRejected({
    status,
    code: Option.match(Schema.decodeUnknownOption(AnthropicErrorDetails)(error.details), {
      onNone: () => null,
      onSome: ({ error_code }) => error_code
    }),
    type: error.type ?? null,
    message: error.message ?? null,
    retryAfter
  })

export const readAnthropicErrorBody = makeVendorErrorBodyReader(AnthropicErrorBody, readAnthropicError)
