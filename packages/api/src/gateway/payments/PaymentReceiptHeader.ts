import { encodeCanonicalJson } from "@berth/domain/gateway/payments/CanonicalJson"
import { paymentMethod } from "@berth/domain/gateway/payments/Challenge"
import type { PaymentReceipt } from "@berth/domain/gateway/payments/PaymentReceipt"
import { DateTime, Encoding, Schema } from "effect"

/** Receipt of the "Payment" HTTP authentication draft. */
export const PaymentReceiptFields = Schema.Struct({
  status: Schema.Literal("success"),
  method: Schema.String,
  /** RFC 3339 time of the settlement. */
  timestamp: Schema.String,
  /** Hash of the transaction. */
  reference: Schema.String
})

/** Makes the value of `Payment-Receipt`, for successful responses only. */
export const formatReceiptHeader = ({ settledAt, transactionHash }: PaymentReceipt): string =>
  Encoding.encodeBase64Url(
    encodeCanonicalJson({
      status: "success",
      method: paymentMethod,
      timestamp: DateTime.formatIso(settledAt),
      reference: transactionHash
    })
  )
