import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { makeChallenge, type ChallengeSeed, type PaymentTerms } from "@berth/domain/gateway/payments/Challenge"
import type { PaidRequest } from "@berth/domain/gateway/payments/PaidRequest"
import type { PaymentDigests } from "@berth/domain/gateway/payments/PaymentDigests"
import { createHash, createHmac } from "node:crypto"

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data)

/** Keccak is replaced by SHA-256; any hash function serves. */
export const makePaymentDigests = (secret: string): PaymentDigests => ({
  hmac: (text) => createHmac("sha256", secret).update(text).digest("base64url"),
  sha256: (bytes) => sha256(bytes).digest("base64"),
  keccak256: (text) => sha256(`keccak ${text}`).digest("hex")
})
export const samplePaymentDigests = makePaymentDigests("a secret for tests")

export const samplePaymentTerms: PaymentTerms = {
  realm: "berth.example",
  chainId: 42_431,
  currency: WalletAddress.make(`0x20c0${"00".repeat(18)}`),
  recipient: WalletAddress.make(`0x${"Ab".repeat(20)}`)
}

const samplePaidRequest: PaidRequest = {
  route: "POST /api/v1/gateway",
  plugin: "generate-text",
  amount: 10_000n,
  description: "One call of generate-text",
  body: new TextEncoder().encode('{"messages":[]}')
}

export const sampleChallengeSeed: ChallengeSeed = { expires: 1_772_366_700, seed: "abcdefgh-_ABCDEF" }

export const sampleChallenge = makeChallenge(
  samplePaymentDigests,
  samplePaymentTerms,
  samplePaidRequest,
  sampleChallengeSeed
)
