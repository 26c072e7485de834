import { DateTime, Encoding, Schema } from "effect"
import { encodeCanonicalJson } from "./CanonicalJson.ts"

/** The draft's receipt of a payment that was settled. In the interface's own answers the reference stands alone. */
export const PaymentReceipt = Schema.Struct({
  status: Schema.Literal("success"),
  method: Schema.String,
  /** RFC 3339, when the payment was found settled. */
  timestamp: Schema.String,
  /** The transaction's hash. */
  reference: Schema.String
})
export type PaymentReceipt = typeof PaymentReceipt.Type

export const makePaymentReceipt = (payment: {
  readonly method: string
  readonly settledAt: DateTime.Utc
  readonly transactionHash: string
}): PaymentReceipt => ({
  status: "success",
  method: payment.method,
  timestamp: DateTime.formatIso(payment.settledAt),
  reference: payment.transactionHash
})

/** The value of `Payment-Receipt`. Only answers of success have one, and they are private to their cache. */
export const formatReceiptHeader = (receipt: PaymentReceipt): string =>
  Encoding.encodeBase64Url(encodeCanonicalJson(receipt))
