import type { PaymentFailure } from "@berth/domain/gateway/payments/PaymentFailure"
import { Schema } from "effect"

const problem = (type: string, title: string, status: 400 | 402) => ({
  type: `https://paymentauth.org/problems/${type}`,
  title,
  status
})

const required = problem("payment-required", "Payment Required", 402)
const malformed = problem("malformed-credential", "Malformed Credential", 402)
const payload = problem("invalid-payload", "Invalid Payload", 402)
const challenge = problem("invalid-challenge", "Invalid Challenge", 402)
const expired = problem("payment-expired", "Payment Expired", 402)
const insufficient = problem("payment-insufficient", "Payment Insufficient", 402)
const failed = problem("verification-failed", "Verification Failed", 402)
const unsupported = problem("method-unsupported", "Method Unsupported", 400)
const badRequest = problem("bad-request", "Bad Request", 400)

/** Problem type of the draft, and detail, per failure. */
const failures = {
  "no credential": [
    required,
    "This call must be paid. Pay one of the challenges and repeat the request with its credential."
  ],
  "several credentials": [badRequest, "The request has more than one payment credential."],
  "unreadable credential": [malformed, "The credential has no known form."],
  "other method": [unsupported, "Only the payment method tempo is supported."],
  "other proof": [payload, "The credential must carry a signed transaction or the hash of one."],
  "not our challenge": [challenge, "The challenge was changed, or was not issued by this service for this request."],
  "challenge is used": [challenge, "The challenge was paid before, or by another transaction."],
  "runs are exhausted": [challenge, "The call has failed too often for this payment."],
  expired: [expired, "The challenge has expired."],
  "transaction is used": [failed, "The transaction was shown for another challenge."],
  "unreadable transaction": [failed, "The transaction cannot be decoded, or is of an unsupported type."],
  "other chain": [failed, "The transaction is for another chain."],
  "needs a fee payer": [failed, "The transaction needs a fee payer; this service pays no fees."],
  "not valid now": [failed, "The transaction is outside its validity window."],
  "no transfer": [failed, "The transaction transfers none of the token."],
  "other token": [failed, "The transaction pays the recipient in another token."],
  "other recipient": [failed, "The transaction pays another recipient."],
  overpaid: [failed, "The transaction pays more than the price."],
  underpaid: [insufficient, "The transaction pays less than the price."],
  "memo of another challenge": [failed, "The memo of the transfer is bound to another challenge."],
  "memo is missing": [failed, "A transaction that is on the chain must carry the memo of the challenge."],
  "transaction is refused": [failed, "The network rejected the transaction."],
  "transaction has failed": [failed, "The transaction was reverted."],
  unconfirmed: [failed, "The transaction is not confirmed yet. Send the same credential again."]
} as const satisfies Record<PaymentFailure, readonly [ReturnType<typeof problem>, string]>

/** Problem details (RFC 9457), with the draft's status per type. */
export const PaymentProblem = Schema.Struct({
  type: Schema.String,
  title: Schema.String,
  status: Schema.Literal(400, 402),
  detail: Schema.String
})
export type PaymentProblem = typeof PaymentProblem.Type

export const describePaymentProblem = (failure: PaymentFailure): PaymentProblem => {
  const [kind, detail] = failures[failure]
  return { ...kind, detail }
}
