import { type FailureKind, classifyStatus } from "../vendor/ProviderFailure.ts"
import type { VendorRequestRejected } from "../vendor/VendorErrors.ts"

/** What a refusal of Google's means. A wrong or expired key comes as a wrong argument, told apart by its code. */
export const classifyGoogleFailure = ({ code, status, type }: VendorRequestRejected): FailureKind => {
  if (code?.startsWith("API_KEY_") === true) return "unauthorized"
  switch (type) {
    case "UNAUTHENTICATED":
    case "PERMISSION_DENIED":
      return "unauthorized"
    case "RESOURCE_EXHAUSTED":
      return "rate-limited"
    case "DEADLINE_EXCEEDED":
      return "timeout"
    case "INTERNAL":
    case "UNAVAILABLE":
    case "ABORTED":
    case "UNKNOWN":
      return "overloaded"
    case "INVALID_ARGUMENT":
    case "FAILED_PRECONDITION":
    case "OUT_OF_RANGE":
    case "NOT_FOUND":
    case "UNIMPLEMENTED":
      return "refused"
    case null:
    default:
      return classifyStatus(status)
  }
}
