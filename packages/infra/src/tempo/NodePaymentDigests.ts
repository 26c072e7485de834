import { PaymentDigests } from "@berth/domain/gateway/payments/PaymentDigests"
import { Layer, Redacted } from "effect"
import { createHash, createHmac } from "node:crypto"
import { keccak256, toHex } from "viem"

/** The hash functions of the machine where it has them. The secret's UTF-8 bytes are the key, as other servers of the protocol take it. */
export const make = (secret: Redacted.Redacted): PaymentDigests["Type"] => ({
  hmac: (text) => createHmac("sha256", Redacted.value(secret)).update(text).digest("base64url"),
  sha256: (bytes) => createHash("sha256").update(bytes).digest("base64"),
  keccak256: (text) => keccak256(toHex(text)).slice(2)
})

export const layer = (options: { readonly secret: Redacted.Redacted }): Layer.Layer<PaymentDigests> =>
  Layer.succeed(PaymentDigests, make(options.secret))
