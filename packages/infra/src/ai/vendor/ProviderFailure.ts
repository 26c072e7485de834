import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import type { ProviderName } from "@berth/domain/ai/models/Model"
import { Match, Redacted } from "effect"
import type { VendorAnswerWithheld, VendorRequestRejected, VendorFailure } from "./VendorErrors.ts"

export type FailureKind = ProviderFailed["kind"]

const maximumReasonLength = 300

/** Returns a vendor's message on one line, truncated, without the key that some vendors quote. */
export const redactMessage = (message: string, apiKey: Redacted.Redacted): string => {
  const key = Redacted.value(apiKey)
  const bare = key === "" ? message : message.replaceAll(key, "<key>")
  const line = bare.replace(/[\p{Cc}\s]+/gu, " ").trim()
  return line.length > maximumReasonLength ? `${line.slice(0, maximumReasonLength)}…` : line
}

/** Classifies a status for every vendor. Null: an error within a stream. */
export const classifyStatus = (status: number | null): FailureKind => {
  switch (status) {
    case null:
      return "overloaded"
    // 402: an account without credit, permanent like a wrong key.
    case 401:
    case 402:
      return "unauthorized"
    case 408:
      return "timeout"
    case 429:
      return "rate-limited"
    default:
      return status >= 500 ? "overloaded" : "refused"
  }
}

const describeRejection = (rejection: VendorRequestRejected, kind: FailureKind, apiKey: Redacted.Redacted): string => {
  const answered = rejection.status === null ? "broke off with an error" : `answered ${rejection.status}`
  // Messages about a key quote it, masked in a different way by each vendor.
  if (kind === "unauthorized") return `${answered}: the key is invalid, or its account has no permission or credit`
  return rejection.message === null ? answered : `${answered}: ${redactMessage(rejection.message, apiKey)}`
}

interface FailureContext {
  readonly provider: ProviderName
  readonly apiKey: Redacted.Redacted
  readonly classify: (rejection: VendorRequestRejected) => FailureKind
}

export const toProviderFailure =
  ({ apiKey, classify, provider }: FailureContext) =>
  (failure: VendorFailure | VendorAnswerWithheld): ProviderFailed =>
    Match.valueTags(failure, {
      VendorConnectionFailed: ({ reason }) =>
        new ProviderFailed({ provider, kind: "unreachable", reason: `cannot be reached: ${reason}` }),
      VendorAnswerMalformed: ({ reason }) =>
        new ProviderFailed({ provider, kind: "nonsense", reason: `violates the protocol: ${reason}` }),
      VendorAnswerWithheld: ({ reason }) =>
        new ProviderFailed({
          provider,
          kind: "refused",
          reason: `withheld the answer: ${redactMessage(reason, apiKey)}`
        }),
      VendorRequestRejected: (rejection) => {
        const kind = classify(rejection)
        return new ProviderFailed({
          provider,
          kind,
          reason: describeRejection(rejection, kind, apiKey),
          retryAfter: rejection.retryAfter
        })
      }
    })
