import { Context, Redacted } from "effect"

/** Hexadecimal digits are lower-case; base64url has no padding. */
type DigestEncoding = "hex" | "base64" | "base64url"

/** Hash functions and constant-time comparison. Text is hashed as its UTF-8 bytes. */
export class Digests extends Context.Tag("@berth/Digests")<
  Digests,
  {
    readonly sha256: (data: string | Uint8Array, encoding: DigestEncoding) => string
    readonly hmacSha256: (key: Redacted.Redacted, data: string | Uint8Array, encoding: DigestEncoding) => string
    /** As hexadecimal digits. */
    readonly keccak256: (data: string) => string
    /** Compares in constant time, even for different lengths. */
    readonly equal: (a: Redacted.Redacted, b: Redacted.Redacted) => boolean
  }
>() {}

/** SHA-256 in lower-case hex: the form in which secrets are stored for lookup. */
export const hashSecret = ({ sha256 }: Pick<Digests["Type"], "sha256">, secret: Redacted.Redacted): string =>
  sha256(Redacted.value(secret), "hex")
