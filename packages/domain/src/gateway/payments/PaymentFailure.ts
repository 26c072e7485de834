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

/** Every way in which a request is not paid: the draft's problem type, its status, and what the payer is told. */
const failures = {
  "no credential": [
    required,
    "This call is paid for. Meet one of the challenges and repeat the request with its credential."
  ],
  "several credentials": [badRequest, "The request has more than one payment credential."],
  "unreadable credential": [malformed, "The credential is not of a known form."],
  "other method": [unsupported, "Payment is taken by the method tempo only."],
  "other proof": [payload, "The credential must carry a signed transaction or the hash of one."],
  "not our challenge": [challenge, "The challenge was not issued by this service for this request, or was changed."],
  "challenge is used": [challenge, "The challenge was met before, or with another transaction."],
  expired: [expired, "The challenge has expired."],
  "transaction is used": [failed, "The transaction has paid for, or was given for, another challenge."],
  "unreadable transaction": [failed, "The transaction cannot be read, or is of a kind that is not taken."],
  "other chain": [failed, "The transaction is for another chain."],
  "needs a fee payer": [failed, "The transaction wants its fee paid by this service."],
  "not valid now": [failed, "The transaction's validity window does not include this moment."],
  "no transfer": [failed, "The transaction transfers none of the token."],
  "other token": [failed, "The transaction pays the recipient in another token."],
  "other recipient": [failed, "The transaction pays somebody else."],
  underpaid: [insufficient, "The transaction pays less than was asked."],
  "memo of another challenge": [failed, "The transfer's memo is bound to another challenge."],
  "memo is missing": [
    failed,
    "A transaction that is on the chain already must carry the memo that is bound to the challenge."
  ],
  "transaction is refused": [failed, "The network refused the transaction."],
  "transaction has failed": [failed, "The transaction was reverted."],
  unconfirmed: [failed, "The transaction is not confirmed yet. The same credential can be sent again."]
} as const satisfies Record<string, readonly [ReturnType<typeof problem>, string]>

export type PaymentFailure = keyof typeof failures

/** Problem details (RFC 9457), with the status that the payment draft gives to each type. */
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
