import { Data, Duration, Either, Redacted } from "effect"
import type { Digests } from "../../secrets/Digests.ts"

type SignatureFault = "missing" | "malformed" | "wrong" | "too old" | "from the future"

/** The sender is not authenticated as the card processor. */
export class SignatureInvalid extends Data.TaggedError("SignatureInvalid")<{ readonly fault: SignatureFault }> {}

/** Tolerance in both directions; limits replay attacks. */
export const signatureTolerance = Duration.minutes(5)

interface SignatureHeader {
  readonly timestamp: string
  /** Lower-case hex, one per active secret. */
  readonly signatures: ReadonlyArray<string>
}

/** Parses `t=1492774577,v1=5257a8…,v1=…,v0=…`; members other than `t` and `v1` are ignored. */
const parseSignatureHeader = (header: string): Either.Either<SignatureHeader, SignatureInvalid> => {
  const members = header.split(",").map((member) => member.trim())
  const valuesOf = (name: string) =>
    members.flatMap((member) => (member.startsWith(`${name}=`) ? [member.slice(name.length + 1)] : []))
  const [timestamp, ...more] = valuesOf("t")
  const signatures = valuesOf("v1").filter((value) => /^[0-9a-f]{64}$/.test(value))
  return timestamp !== undefined && more.length === 0 && /^\d{1,12}$/.test(timestamp) && signatures.length > 0
    ? Either.right({ timestamp, signatures })
    : Either.left(new SignatureInvalid({ fault: "malformed" }))
}

/** Timestamp, dot, raw body. */
const signedBytes = (timestamp: string, body: Uint8Array): Uint8Array => {
  const head = new TextEncoder().encode(`${timestamp}.`)
  const bytes = new Uint8Array(head.length + body.length)
  bytes.set(head)
  bytes.set(body, head.length)
  return bytes
}

/**
 * Returns the time of the signature, in epoch seconds, if the header has a recent HMAC-SHA256 of the body with the
 * secret. The time is checked after the signature.
 */
export const verifySignature = (
  digests: Pick<Digests["Type"], "equal" | "hmacSha256">,
  signed: {
    readonly header: string | undefined
    readonly body: Uint8Array
    readonly secret: Redacted.Redacted
    readonly nowMillis: number
  }
): Either.Either<number, SignatureInvalid> => {
  if (signed.header === undefined || signed.header.trim() === "")
    return Either.left(new SignatureInvalid({ fault: "missing" }))
  return Either.flatMap(parseSignatureHeader(signed.header), ({ signatures, timestamp }) => {
    const bytes = signedBytes(timestamp, signed.body)
    const expected = Redacted.make(digests.hmacSha256(signed.secret, bytes, "hex"))
    const matches = signatures.filter((signature) => digests.equal(expected, Redacted.make(signature))).length
    if (matches === 0) return Either.left(new SignatureInvalid({ fault: "wrong" }))
    const signedAt = Number(timestamp)
    const age = signed.nowMillis - signedAt * 1000
    const tolerance = Duration.toMillis(signatureTolerance)
    if (age > tolerance) return Either.left(new SignatureInvalid({ fault: "too old" }))
    return age < -tolerance ? Either.left(new SignatureInvalid({ fault: "from the future" })) : Either.right(signedAt)
  })
}
