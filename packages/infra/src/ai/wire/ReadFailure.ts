import type { ProviderName } from "@berth/domain/ai/Model"
import { ProviderFailed } from "@berth/domain/ai/ModelChat"
import { Match, Redacted } from "effect"
import type { AnswerIsWithheld, VendorRefused, WireFailure } from "./WireFailure.ts"

export type FailureKind = ProviderFailed["kind"]

const longestReason = 300

/** A vendor's words as part of a reason: on one line, not too long, and without the key, which some vendors quote. */
export const tidy = (words: string, apiKey: Redacted.Redacted): string => {
  const key = Redacted.value(apiKey)
  const bare = key === "" ? words : words.replaceAll(key, "<key>")
  const line = bare.replace(/[\p{Cc}\s]+/gu, " ").trim()
  return line.length > longestReason ? `${line.slice(0, longestReason)}…` : line
}

/** What a status means whoever sends it; an error without one came after an answer had begun. */
export const kindOfStatus = (status: number | null): FailureKind => {
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

const reasonOf = (refusal: VendorRefused, kind: FailureKind, apiKey: Redacted.Redacted): string => {
  const answered = refusal.status === null ? "broke off with an error" : `answered ${refusal.status}`
  // Words about a key quote it, masked in every vendor's own way.
  if (kind === "unauthorized") return `${answered}: the account may not do this; its key or its credit is missing`
  return refusal.message === null ? answered : `${answered}: ${tidy(refusal.message, apiKey)}`
}

export interface FailureReading {
  readonly provider: ProviderName
  readonly apiKey: Redacted.Redacted
  /** What a refusal means in this vendor's words. */
  readonly kindOf: (refusal: VendorRefused) => FailureKind
}

/** What a failure of the wire means to the AI layer. */
export const readFailure =
  ({ apiKey, kindOf, provider }: FailureReading) =>
  (failure: WireFailure | AnswerIsWithheld): ProviderFailed =>
    Match.valueTags(failure, {
      WireIsBroken: ({ reason }) =>
        new ProviderFailed({ provider, kind: "unreachable", reason: `cannot be reached: ${reason}` }),
      AnswerIsNonsense: ({ reason }) =>
        new ProviderFailed({ provider, kind: "nonsense", reason: `cannot be understood: ${reason}` }),
      AnswerIsWithheld: ({ reason }) =>
        new ProviderFailed({ provider, kind: "refused", reason: `withheld the answer: ${tidy(reason, apiKey)}` }),
      VendorRefused: (refusal) => {
        const kind = kindOf(refusal)
        return new ProviderFailed({
          provider,
          kind,
          reason: reasonOf(refusal, kind, apiKey),
          retryAfter: refusal.retryAfter
        })
      }
    })
