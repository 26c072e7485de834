import { Digests } from "@berth/domain/secrets/Digests"
import { Layer, Redacted } from "effect"
import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { keccak256, toHex } from "viem"

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest()

/** Keccak comes from viem: OpenSSL has only the later SHA-3. */
export const digests: Digests["Type"] = {
  sha256,
  hmacSha256: (key, data) => createHmac("sha256", Redacted.value(key)).update(data).digest(),
  keccak256: (data) => keccak256(toHex(data), "bytes"),
  // Over hashes, which have equal lengths.
  equal: (a, b) => timingSafeEqual(sha256(Redacted.value(a)), sha256(Redacted.value(b)))
}

export const layer = Layer.succeed(Digests, digests)
