import { Data, Either, Redacted } from "effect"
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto"

class JwtKeyMalformed extends Data.TaggedError("JwtKeyMalformed")<{ readonly reason: string }> {}

const malformed = () => new JwtKeyMalformed({ reason: "must be an Ed25519 private key in PKCS8 PEM" })

/** Parses `JWT_PRIVATE_KEY`. A literal `\n` is a line break. */
export const parseJwtKey = (text: Redacted.Redacted): Either.Either<Redacted.Redacted<KeyObject>, JwtKeyMalformed> =>
  // The library's error is dropped: it may quote the key.
  Either.try({
    try: () => createPrivateKey({ key: Redacted.value(text).replaceAll("\\n", "\n"), format: "pem", type: "pkcs8" }),
    catch: malformed
  }).pipe(
    Either.filterOrLeft((key) => key.type === "private" && key.asymmetricKeyType === "ed25519", malformed),
    Either.map(Redacted.make)
  )

/** Generates a key in the format of `JWT_PRIVATE_KEY`. */
export const generateJwtKey = (): Redacted.Redacted =>
  Redacted.make(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString())
