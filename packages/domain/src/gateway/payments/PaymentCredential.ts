import { Data, Either, Encoding, Option, Schema } from "effect"
import { type Challenge, paymentMethod } from "./Challenge.ts"
import type { PaymentFailure } from "./PaymentFailure.ts"

/** Maximum characters of an `Authorization` value. */
export const maximumPaymentCredentialLength = 16 * 1024

/** Proof of payment: a transaction to broadcast, or the hash of one already sent. Hex in lower case. */
export type PaymentProof = Data.TaggedEnum<{
  readonly Transaction: { readonly raw: string }
  readonly Hash: { readonly hash: string }
}>
export const PaymentProof = Data.taggedEnum<PaymentProof>()

/** A challenge as returned by a client; unverified. */
const EchoedChallenge = Schema.Struct({
  id: Schema.String,
  realm: Schema.String,
  method: Schema.String,
  intent: Schema.String,
  request: Schema.String,
  expires: Schema.optional(Schema.String),
  digest: Schema.optional(Schema.String),
  opaque: Schema.optional(Schema.String),
  header: Schema.optional(Schema.String)
})
type EchoedChallenge = typeof EchoedChallenge.Type

/** Credential of the "Payment" HTTP authentication draft. */
const DraftCredential = Schema.Struct({ challenge: EchoedChallenge, payload: Schema.Unknown })
/** Credential of the interface specification. */
const PlainCredential = Schema.Struct({
  scheme: Schema.String,
  transaction: Schema.String,
  challengeNonce: Schema.String
})
const Payload = Schema.Union(
  Schema.Struct({ type: Schema.Literal("transaction"), signature: Schema.String }),
  Schema.Struct({ type: Schema.Literal("hash"), hash: Schema.String })
)

/** The paid challenge and the proof of its payment. */
interface PaymentCredential {
  readonly challengeId: string
  /** The challenge as repeated by the credential, if any. */
  readonly echo: Option.Option<EchoedChallenge>
  readonly proof: PaymentProof
}

const hashPattern = /^0x[0-9a-f]{64}$/
const rawPattern = /^0x(?:[0-9a-f]{2}){33,}$/

const hashProof = (text: string): Option.Option<PaymentProof> => {
  const hash = text.toLowerCase()
  return hashPattern.test(hash) ? Option.some(PaymentProof.Hash({ hash })) : Option.none()
}

const rawProof = (text: string): Option.Option<PaymentProof> => {
  const raw = text.toLowerCase()
  return rawPattern.test(raw) ? Option.some(PaymentProof.Transaction({ raw })) : Option.none()
}

const decodeDraft = Schema.decodeUnknownOption(DraftCredential)
const decodePlain = Schema.decodeUnknownOption(PlainCredential)
const decodePayload = Schema.decodeUnknownOption(Payload)
const decodeJson = Schema.decodeOption(Schema.parseJson())

const draftCredential = ({
  challenge,
  payload
}: typeof DraftCredential.Type): Either.Either<PaymentCredential, PaymentFailure> => {
  if (challenge.method !== paymentMethod) return Either.left("other method")
  const proof = Option.flatMap(decodePayload(payload), (known) =>
    known.type === "hash" ? hashProof(known.hash) : rawProof(known.signature)
  )
  return Either.fromOption(proof, () => "other proof" as const).pipe(
    Either.map((found) => ({ challengeId: challenge.id, echo: Option.some(challenge), proof: found }))
  )
}

const plainCredential = ({
  challengeNonce,
  scheme,
  transaction
}: typeof PlainCredential.Type): Either.Either<PaymentCredential, PaymentFailure> => {
  if (scheme.toLowerCase() !== "payment") return Either.left("unreadable credential")
  const proof = Option.orElse(hashProof(transaction), () => rawProof(transaction))
  return Either.fromOption(proof, () => "other proof" as const).pipe(
    Either.map((found) => ({ challengeId: challengeNonce, echo: Option.none(), proof: found }))
  )
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const decodeUtf8 = Option.liftThrowable((bytes: Uint8Array) => utf8.decode(bytes))

/** A header value has one byte per character. */
const toBytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0))

const jsonOf = (text: string): Option.Option<unknown> => {
  const bytes = text.startsWith("{") ? Option.some(toBytes(text)) : Option.getRight(Encoding.decodeBase64Url(text))
  return bytes.pipe(Option.flatMap(decodeUtf8), Option.flatMap(decodeJson))
}

const scheme = /^payment[ \t]+/i

/** Returns the parameters of `Payment` credentials in header values; ignores other schemes. */
const credentialsIn = (values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.flatMap((value) => {
    const text = value.trim()
    const rest = text.replace(scheme, "").trim()
    // JSON contains commas too, so a valid JSON text is one credential.
    if (scheme.test(text) && rest.startsWith("{") && Option.isSome(decodeJson(rest))) return [rest]
    return text
      .split(/,(?=[ \t]*[A-Za-z-]+[ \t]+[^ \t=,])/)
      .map((part) => part.trim())
      .filter((part) => scheme.test(part))
      .map((part) => part.replace(scheme, "").trim())
  })

/** Parses the credential in the values of `Authorization`; total over all values. */
export const parsePaymentCredential = (
  values: ReadonlyArray<string>
): Either.Either<PaymentCredential, PaymentFailure> => {
  if (values.reduce((length, value) => length + value.length, 0) > maximumPaymentCredentialLength)
    return Either.left("unreadable credential")
  const [text, ...more] = credentialsIn(values)
  if (text === undefined) return Either.left("no credential")
  if (more.length > 0) return Either.left("several credentials")
  const json = Option.getOrUndefined(jsonOf(text))
  const draft = decodeDraft(json)
  if (Option.isSome(draft)) return draftCredential(draft.value)
  const plain = decodePlain(json)
  return Option.isSome(plain) ? plainCredential(plain.value) : Either.left("unreadable credential")
}

/** Whether the repeated challenge of a credential, if any, equals the issued one. */
export const matchesChallengeEcho = (challenge: Challenge, echo: Option.Option<EchoedChallenge>): boolean =>
  Option.match(echo, {
    onNone: () => true,
    onSome: (echoed) =>
      echoed.header === undefined &&
      echoed.id === challenge.id &&
      echoed.realm === challenge.realm &&
      echoed.method === challenge.method &&
      echoed.intent === challenge.intent &&
      echoed.request === challenge.request &&
      echoed.expires === challenge.expires &&
      echoed.digest === challenge.digest &&
      echoed.opaque === challenge.opaque
  })
