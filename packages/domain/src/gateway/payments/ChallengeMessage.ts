import { DateTime, Schema } from "effect"
import type { Challenge } from "./Challenge.ts"
import { type PaymentFailure, PaymentProblem, describePaymentProblem } from "./PaymentFailure.ts"

/*
 * A challenge as it goes over the wire: each message is whole both as the interface's own and as the draft's.
 */

/** A quoted string (RFC 9110): what no header may hold becomes a question mark, a line break a space. */
const quoted = (text: string): string =>
  `"${text
    .replace(/[\r\n\t]+/g, " ")
    .replace(/[^\u0020-\u007e]/gu, "?")
    .replace(/["\\]/g, "\\$&")}"`

/** The value of `WWW-Authenticate`. The last three parameters are the interface's own; the draft lets clients ignore them. */
export const formatChallengeHeader = (challenge: Challenge): string => {
  const { amount, currency, description, digest, expires, id, intent, method, opaque, realm, recipient, request } =
    challenge
  const parameters = {
    id,
    realm,
    method,
    intent,
    request,
    expires,
    digest,
    opaque,
    description,
    amount: String(amount),
    currency,
    recipient
  }
  return `Payment ${Object.entries(parameters)
    .map(([name, value]) => `${name}=${quoted(value)}`)
    .join(", ")}`
}

/** What the interface says of a challenge. */
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

/** The body beside the header; whoever serves it may add members. */
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
