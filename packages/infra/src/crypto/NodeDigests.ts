import { Digests } from "@berth/domain/secrets/Digests"
import { oncePerObject } from "@berth/domain/shared/ObjectMemo"
import { Layer, Redacted } from "effect"
import { createHmac, createSecretKey, hash, timingSafeEqual } from "node:crypto"
import { keccak256, toHex } from "viem"

/** Lengths of secrets are public. */
const equal = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b)

/** Memoized, since importing a key takes as long as the HMAC of a short text. */
const importKey = oncePerObject((secret: Redacted.Redacted) => createSecretKey(Redacted.value(secret), "utf8"))

/** Uses viem for Keccak, since OpenSSL has only the later SHA-3. */
export const digests: Digests["Type"] = {
  sha256: (data, encoding) => hash("sha256", data, encoding),
  hmacSha256: (key, data, encoding) => createHmac("sha256", importKey(key)).update(data).digest(encoding),
  keccak256: (data) => keccak256(toHex(data)).slice(2),
  equal: (a, b) => equal(Buffer.from(Redacted.value(a)), Buffer.from(Redacted.value(b)))
}

export const layer = Layer.succeed(Digests, digests)
