import { type Duration, Option, Schema } from "effect"
import { classifyStatus, type FailureKind } from "../vendor/ProviderFailure.ts"
import { makeVendorErrorBodyReader } from "../vendor/VendorErrorBody.ts"
import { VendorRequestRejected } from "../vendor/VendorErrors.ts"
import { AnthropicErrorBody, AnthropicErrorDetails, type AnthropicError } from "./AnthropicBodies.ts"

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

// The vendor may also report an account without credit or permission as an invalid request or a rate limit.
const isAccountFailure = ({ code, message }: VendorRequestRejected) =>
  /spend_limit_reached|billing|on_hold/.test(code ?? "") ||
  /credit balance is too low|specified (workspace )?API usage limits|organization has been disabled/i.test(
    message ?? ""
  )

export const classifyAnthropicFailure = (rejection: VendorRequestRejected): FailureKind => {
  const { status, type } = rejection
  if (isAccountFailure(rejection)) return "unauthorized"
  switch (type) {
    case "authentication_error":
    case "permission_error":
    case "billing_error":
      return "unauthorized"
    case "rate_limit_error":
      return "rate-limited"
    case "timeout_error":
      return "timeout"
    case "overloaded_error":
    case "api_error":
      return "overloaded"
    case "invalid_request_error":
    case "not_found_error":
    case "request_too_large":
      return "refused"
    case null:
    default:
      return classifyStatus(status)
  }
}
