import { encodeCanonicalJson } from "@berth/domain/gateway/payments/CanonicalJson"
import { paymentMethod } from "@berth/domain/gateway/payments/Challenge"
import type { PaymentReceipt } from "@berth/domain/gateway/payments/PaymentReceipt"
import { DateTime, Encoding, Schema } from "effect"

/** The receipt of the "Payment" HTTP authentication draft. */
export const PaymentReceiptFields = Schema.Struct({
  status: Schema.Literal("success"),
  method: Schema.String,
  /** RFC 3339, the time of settlement. */
  timestamp: Schema.String,
  /** The transaction's hash. */
  reference: Schema.String
})

/** The value of `Payment-Receipt`, which only successful responses have. */
export const formatReceiptHeader = ({ settledAt, transactionHash }: PaymentReceipt): string =>
  Encoding.encodeBase64Url(
    encodeCanonicalJson({
      status: "success",
      method: paymentMethod,
      timestamp: DateTime.formatIso(settledAt),
      reference: transactionHash
    })
  )
