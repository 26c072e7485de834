import type { Redacted } from "effect"
import type { Digests } from "../../secrets/Digests.ts"

/** Hash functions of the payment protocols, with their encodings. */
export interface PaymentDigests {
  /** HMAC-SHA256 with the installation's secret, as base64url without padding. */
  readonly hmac: (text: string) => string
  /** SHA-256, as base64 with padding. */
  readonly sha256: (bytes: Uint8Array) => string
  /** Keccak-256, as 64 lower-case hex digits. */
  readonly keccak256: (text: string) => string
}

/** The HMAC key is the UTF-8 encoding of the secret, as in other servers of the protocol. */
export const makePaymentDigests = (digests: Digests["Type"], secret: Redacted.Redacted): PaymentDigests => ({
  hmac: (text) => digests.hmacSha256(secret, text, "base64url"),
  sha256: (bytes) => digests.sha256(bytes, "base64"),
  keccak256: digests.keccak256
})
