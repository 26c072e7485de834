import type { Challenge } from "@berth/domain/gateway/payments/Challenge"
import type { PaymentFailure } from "@berth/domain/gateway/payments/PaymentFailure"
import { DateTime, Schema } from "effect"
import { PaymentProblem, describePaymentProblem } from "./PaymentProblems.ts"

/* Challenges on the wire. Each message is complete for the interface and for the "Payment" HTTP authentication draft. */

/** A quoted string (RFC 9110): line breaks become spaces, other characters outside printable ASCII question marks. */
const quoted = (text: string): string =>
  isQuotable.test(text)
    ? `"${text}"`
    : `"${text
        .replace(/[\r\n\t]+/g, " ")
        .replace(/[^\u0020-\u007e]/gu, "?")
        .replace(/["\\]/g, "\\$&")}"`

/** Printable ASCII without quotes and backslashes: nearly all values. */
const isQuotable = /^[ !#-[\]-~]*$/

/** The value of `WWW-Authenticate`. The last three parameters are the interface's; clients of the draft ignore them. */
export const formatChallengeHeader = (challenge: Challenge): string => {
  const { amount, currency, description, digest, expires, id, intent, method, opaque, realm, recipient, request } =
    challenge
  // Hot path: one template. Values that the service makes are printable ASCII without quotes.
  return `Payment id="${id}", realm=${quoted(realm)}, method="${method}", intent="${intent}", request="${request}", expires="${expires}", digest="${digest}", opaque="${opaque}", description=${quoted(description)}, amount="${amount}", currency=${quoted(currency)}, recipient=${quoted(recipient)}`
}

/** The interface's form of a challenge. */
export const ChallengeTerms = Schema.Struct({
  scheme: Schema.Literal("Payment"),
  /** In the token's smallest units. */
  amount: Schema.String,
  currency: Schema.String,
  recipient: Schema.String,
  description: Schema.String,
  /** The challenge's id. */
  nonce: Schema.String,
  /** Milliseconds since the epoch. */
  expiresAt: Schema.Int
})
export type ChallengeTerms = typeof ChallengeTerms.Type

/** The body beside the header. */
export const ChallengeBody = Schema.Struct({
  error: Schema.Literal("payment_required"),
  message: Schema.String,
  mpp: ChallengeTerms,
  ...PaymentProblem.fields,
  challengeId: Schema.String
})
export type ChallengeBody = typeof ChallengeBody.Type

export const makeChallengeBody = (challenge: Challenge, failure: PaymentFailure): ChallengeBody => {
  const problem = describePaymentProblem(failure)
  return {
    error: "payment_required",
    message: problem.detail,
    mpp: {
      scheme: "Payment",
      amount: String(challenge.amount),
      currency: challenge.currency,
      recipient: challenge.recipient,
      description: challenge.description,
      nonce: challenge.id,
      expiresAt: DateTime.toEpochMillis(challenge.expiresAt)
    },
    ...problem,
    challengeId: challenge.id
  }
}
