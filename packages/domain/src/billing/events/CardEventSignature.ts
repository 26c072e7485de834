import { Data, Duration, Either } from "effect"

/** Why a signature does not count. */
export type SignatureFault = "missing" | "malformed" | "wrong" | "too old" | "from the future"

/** Whoever sent this has not shown that he is the card processor. */
export class SignatureInvalid extends Data.TaggedError("SignatureInvalid")<{ readonly fault: SignatureFault }> {}

/** How far the moment of signing may be from ours, before or after: what is older may be somebody's copy. */
export const signatureTolerance = Duration.minutes(5)

interface SignatureHeader {
  /** As it was signed: the digits themselves. */
  readonly timestamp: string
  /** Lower-case hex, one for each secret that is in use: two while one follows the other. */
  readonly signatures: ReadonlyArray<string>
}

/** Reads `t=1492774577,v1=5257a8…,v1=…,v0=…`; members other than `t` and `v1` say nothing. */
export const parseSignatureHeader = (header: string): Either.Either<SignatureHeader, SignatureInvalid> => {
  const members = header.split(",").map((member) => member.trim())
  const valuesOf = (name: string) =>
    members.flatMap((member) => (member.startsWith(`${name}=`) ? [member.slice(name.length + 1)] : []))
  const [timestamp, ...more] = valuesOf("t")
  const signatures = valuesOf("v1").filter((value) => /^[0-9a-f]{64}$/.test(value))
  return timestamp !== undefined && more.length === 0 && /^\d{1,12}$/.test(timestamp) && signatures.length > 0
    ? Either.right({ timestamp, signatures })
    : Either.left(new SignatureInvalid({ fault: "malformed" }))
}

/** Whether two texts are the same, in a time that only their lengths tell. */
const sameText = (one: string, other: string): boolean => {
  let difference = one.length ^ other.length
  for (let index = 0; index < one.length; index++) difference |= one.charCodeAt(index) ^ other.charCodeAt(index)
  return difference === 0
}

/** The bytes that are signed: the moment, a dot, and the body as it came. */
const signedBytes = (timestamp: string, body: Uint8Array): Uint8Array => {
  const head = new TextEncoder().encode(`${timestamp}.`)
  const bytes = new Uint8Array(head.length + body.length)
  bytes.set(head)
  bytes.set(body, head.length)
  return bytes
}

/**
 * Whether the card processor has signed these bytes just now. `hmac` is HMAC-SHA256 by the secret that only the two know, as
 * lower-case hex. The time is looked at last: of a wrong signature it says nothing.
 */
export const verifySignature = (given: {
  readonly header: string | undefined
  readonly body: Uint8Array
  readonly hmac: (bytes: Uint8Array) => string
  readonly nowMillis: number
}): Either.Either<void, SignatureInvalid> => {
  if (given.header === undefined || given.header.trim() === "")
    return Either.left(new SignatureInvalid({ fault: "missing" }))
  return Either.flatMap(parseSignatureHeader(given.header), ({ signatures, timestamp }) => {
    const expected = given.hmac(signedBytes(timestamp, given.body))
    const matches = signatures.filter((signature) => sameText(expected, signature)).length
    if (matches === 0) return Either.left(new SignatureInvalid({ fault: "wrong" }))
    const age = given.nowMillis - Number(timestamp) * 1000
    const tolerance = Duration.toMillis(signatureTolerance)
    if (age > tolerance) return Either.left(new SignatureInvalid({ fault: "too old" }))
    return age < -tolerance ? Either.left(new SignatureInvalid({ fault: "from the future" })) : Either.void
  })
}
