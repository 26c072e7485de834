import { Either, Redacted } from "effect"
import { createPrivateKey, type KeyObject } from "node:crypto"

/*
 * Secrets of the CDP API (https://docs.cdp.coinbase.com/api-reference/v2/authentication).
 */

export interface CdpSigningKey {
  readonly key: KeyObject
  readonly algorithm: "EdDSA" | "ES256"
}

const base64 = (text: string): Buffer | undefined =>
  /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined

const isP256 = (key: KeyObject) => key.asymmetricKeyDetails?.namedCurve === "prime256v1"

const fault = (reason: string) => Either.left({ reason })
const attempt = (make: () => KeyObject, reason: string) => Either.try({ try: make, catch: () => ({ reason }) })

/** Parses an API key secret: base64 of an Ed25519 seed and public key, or a PEM of a P-256 key. */
export const parseApiKeySecret = (
  secret: Redacted.Redacted
): Either.Either<CdpSigningKey, { readonly reason: string }> => {
  const text = Redacted.value(secret)
    .trim()
    .replaceAll(String.raw`\n`, "\n")
  const expected = "must be base64 of an Ed25519 key (64 bytes), or the PEM of a P-256 key"
  if (text.startsWith("-----BEGIN"))
    return Either.flatMap(
      attempt(() => createPrivateKey(text), expected),
      (key) => (isP256(key) ? Either.right({ key, algorithm: "ES256" }) : fault(expected))
    )
  const bytes = base64(text)
  if (bytes?.length !== 64) return fault(expected)
  const [d, x] = [bytes.subarray(0, 32).toString("base64url"), bytes.subarray(32).toString("base64url")]
  return Either.map(
    attempt(() => createPrivateKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", d, x } }), expected),
    (key): CdpSigningKey => ({ key, algorithm: "EdDSA" })
  )
}

/** Parses a wallet secret: base64 of a P-256 key in PKCS #8. */
export const parseWalletSecret = (
  secret: Redacted.Redacted
): Either.Either<CdpSigningKey, { readonly reason: string }> => {
  const expected = "must be base64 of a P-256 key in PKCS #8"
  const bytes = base64(Redacted.value(secret).trim())
  if (bytes === undefined) return fault(expected)
  return Either.flatMap(
    attempt(() => createPrivateKey({ format: "der", type: "pkcs8", key: bytes }), expected),
    (key) => (isP256(key) ? Either.right({ key, algorithm: "ES256" }) : fault(expected))
  )
}
