import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import type { ProviderName } from "@berth/domain/ai/models/Model"
import { Match, Redacted } from "effect"
import type { VendorAnswerWithheld, VendorRequestRejected, VendorFailure } from "./VendorErrors.ts"

export type FailureKind = ProviderFailed["kind"]

const maximumReasonLength = 300

/** A vendor's words as part of a reason: on one line, not too long, and without the key, which some vendors quote. */
export const redactMessage = (words: string, apiKey: Redacted.Redacted): string => {
  const key = Redacted.value(apiKey)
  const bare = key === "" ? words : words.replaceAll(key, "<key>")
  const line = bare.replace(/[\p{Cc}\s]+/gu, " ").trim()
  return line.length > maximumReasonLength ? `${line.slice(0, maximumReasonLength)}…` : line
}

/** What a status means whoever sends it; an error without one came after an answer had begun. */
export const classifyStatus = (status: number | null): FailureKind => {
  switch (status) {
    case null:
      return "overloaded"
    // No credit left: like a wrong key, it stays until somebody does something.
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

const describeRefusal = (refusal: VendorRequestRejected, kind: FailureKind, apiKey: Redacted.Redacted): string => {
  const answered = refusal.status === null ? "broke off with an error" : `answered ${refusal.status}`
  // Words about a key quote it, masked in every vendor's own way.
  if (kind === "unauthorized") return `${answered}: the account may not do this; its key or its credit is missing`
  return refusal.message === null ? answered : `${answered}: ${redactMessage(refusal.message, apiKey)}`
}

export interface FailureContext {
  readonly provider: ProviderName
  readonly apiKey: Redacted.Redacted
  /** What a refusal means in this vendor's words. */
  readonly classify: (refusal: VendorRequestRejected) => FailureKind
}

/** What a failure of the wire means to the AI layer. */
export const toProviderFailure =
  ({ apiKey, classify, provider }: FailureContext) =>
  (failure: VendorFailure | VendorAnswerWithheld): ProviderFailed =>
    Match.valueTags(failure, {
      VendorConnectionFailed: ({ reason }) =>
        new ProviderFailed({ provider, kind: "unreachable", reason: `cannot be reached: ${reason}` }),
      VendorAnswerMalformed: ({ reason }) =>
        new ProviderFailed({ provider, kind: "nonsense", reason: `cannot be understood: ${reason}` }),
      VendorAnswerWithheld: ({ reason }) =>
        new ProviderFailed({
          provider,
          kind: "refused",
          reason: `withheld the answer: ${redactMessage(reason, apiKey)}`
        }),
      VendorRequestRejected: (refusal) => {
        const kind = classify(refusal)
        return new ProviderFailed({
          provider,
          kind,
          reason: describeRefusal(refusal, kind, apiKey),
          retryAfter: refusal.retryAfter
        })
      }
    })
