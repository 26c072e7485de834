import { Context } from "effect"

/** The hash functions of the payment protocols. The key of the first is the installation's and shown to nobody. */
export class PaymentDigests extends Context.Tag("@berth/PaymentDigests")<
  PaymentDigests,
  {
    /** HMAC-SHA256 of the text's UTF-8 bytes, as base64url without padding. */
    readonly hmac: (text: string) => string
    /** SHA-256, as base64 with padding. */
    readonly sha256: (bytes: Uint8Array) => string
    /** Keccak-256 of the text's UTF-8 bytes, as 64 lower-case hex digits. */
    readonly keccak256: (text: string) => string
  }
>() {}
