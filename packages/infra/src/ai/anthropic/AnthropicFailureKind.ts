import { type FailureKind, classifyStatus } from "../vendor/ProviderFailure.ts"
import type { VendorRequestRejected } from "../vendor/VendorErrors.ts"

// What an account has run out of, or may not do any more, is told in other types too: as a wrong request, or as a rate
// that no waiting brings below its limit.
const isAccountFailure = ({ code, message }: VendorRequestRejected) =>
  /spend_limit_reached|billing|on_hold/.test(code ?? "") ||
  /credit balance is too low|specified (workspace )?API usage limits|organization has been disabled/i.test(
    message ?? ""
  )

/** What a refusal of Anthropic's means. */
export const classifyAnthropicFailure = (refusal: VendorRequestRejected): FailureKind => {
  const { status, type } = refusal
  if (isAccountFailure(refusal)) return "unauthorized"
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
