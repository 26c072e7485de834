import { ChallengeBody, formatChallengeHeader, makeChallengeBody } from "@berth/api/gateway/payments/ChallengeMessage"
import { formatReceiptHeader, PaymentReceiptFields } from "@berth/api/gateway/payments/PaymentReceiptHeader"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Either, Encoding, Schema } from "effect"
import { sampleChallenge, samplePaymentTerms } from "../../../../domain/test/gateway/payments/PaymentSamples.ts"

const decode = (text: string) => Either.getOrThrow(Encoding.decodeBase64UrlString(text))

/** The parameters of a header by the grammar of RFC 9110. */
const parametersOf = (header: string) =>
  Object.fromEntries(
    [...header.matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"/gi)].map(([, name = "", value = ""]) => [
      name,
      value.replaceAll(/\\(.)/g, "$1")
    ])
  )

describe("Payment messages", () => {
  it("PaymentMessages formats a header of printable ASCII with the parameters of both protocols", () => {
    const made = { ...sampleChallenge, description: 'One "call"\r\n\u00e9' }
    const header = formatChallengeHeader(made)
    assert.match(header, /^Payment [\u0020-\u007e]+$/)
    const parameters = parametersOf(header)
    const { amount, currency, digest, expires, id, intent, method, opaque, realm, recipient, request } = made
    assert.deepInclude(parameters, { id, realm, method, intent, request, expires, digest, opaque })
    assert.deepInclude(parameters, { amount: String(amount), currency, recipient, description: 'One "call" ?' })
  })

  it("PaymentMessages makes a body with the members of both protocols", () => {
    const body = makeChallengeBody(sampleChallenge, "expired")
    assert.deepStrictEqual(Schema.decodeSync(ChallengeBody)(Schema.encodeSync(ChallengeBody)(body)), body)
    assert.deepStrictEqual(body, {
      error: "payment_required",
      message: "The challenge has expired.",
      mpp: {
        scheme: "Payment",
        amount: "10000",
        currency: samplePaymentTerms.currency,
        recipient: samplePaymentTerms.recipient,
        description: "One call of generate-text",
        nonce: sampleChallenge.id,
        expiresAt: 1_772_366_700_000
      },
      type: "https://paymentauth.org/problems/payment-expired",
      title: "Payment Expired",
      status: 402,
      detail: "The challenge has expired.",
      challengeId: sampleChallenge.id
    })
  })

  it("PaymentMessages formats a receipt header that decodes to the receipt", () => {
    const header = formatReceiptHeader({
      settledAt: DateTime.unsafeMake(1_772_366_500_123),
      transactionHash: `0x${"12".repeat(32)}`
    })
    assert.deepStrictEqual(Schema.decodeSync(Schema.parseJson(PaymentReceiptFields))(decode(header)), {
      status: "success",
      method: "tempo",
      timestamp: "2026-03-01T12:01:40.123Z",
      reference: `0x${"12".repeat(32)}`
    })
  })
})
