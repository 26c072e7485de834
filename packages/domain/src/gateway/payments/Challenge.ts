import { DateTime, Duration, Encoding, Option, Schema } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"
import { oncePerObject } from "../../shared/ObjectMemo.ts"
import { encodeCanonicalJson } from "./CanonicalJson.ts"
import type { PaidRequest } from "./PaidRequest.ts"
import type { PaymentDigests } from "./PaymentDigests.ts"

/** Recipient, token and chain of machine payments. */
export interface PaymentTerms {
  /** Protection space of a challenge: the public host, with a port other than the scheme's default. */
  readonly realm: string
  /** EIP-155 id of a Tempo chain. */
  readonly chainId: number
  /** A TIP-20 token; all TIP-20 tokens have six decimals. */
  readonly currency: WalletAddress
  readonly recipient: WalletAddress
}

/** Time after which an unpaid challenge expires. */
export const challengeLifetime = Duration.minutes(5)
export const paymentMethod = "tempo"
export const paymentIntent = "charge"

/** HMAC, expiry in seconds, price and random seed, separated by dots. */
export const ChallengeId = Schema.String.pipe(Schema.brand("ChallengeId"))
export type ChallengeId = typeof ChallengeId.Type

/** Parts covered by the HMAC, named as in the "Payment" HTTP authentication draft. */
interface ChallengeParts {
  readonly realm: string
  readonly method: string
  readonly intent: string
  /** Canonical JSON as base64url. */
  readonly request: string
  /** RFC 3339; empty if absent, like the following members. */
  readonly expires: string
  /** RFC 9530 digest of the body. */
  readonly digest: string
  /** Canonical JSON as base64url. */
  readonly opaque: string
}

/** Price of one call, and the terms of its payment. Not stored. */
export interface Challenge extends ChallengeParts {
  readonly id: ChallengeId
  readonly expiresAt: DateTime.Utc
  /** In the token's smallest units; also in `request`, like the next two members. */
  readonly amount: bigint
  readonly currency: string
  readonly recipient: string
  readonly description: string
}

/** Binding of the draft: seven slots in fixed order. */
export const bindChallenge = ({ hmac }: PaymentDigests, parts: ChallengeParts): string =>
  hmac([parts.realm, parts.method, parts.intent, parts.request, parts.expires, parts.digest, parts.opaque].join("|"))

/** Parts of a challenge that do not follow from the settings and the request. */
export interface ChallengeSeed {
  /** Seconds since the epoch. */
  readonly expires: number
  /** Sixteen letters, digits, hyphens or underscores. */
  readonly seed: string
}

/** Parts of an id after the HMAC. They include the price, since prices may change before the payment arrives. */
interface ParsedChallengeId extends ChallengeSeed {
  readonly amount: bigint
}

const largestSecond = 99_999_999_999
const pattern = /^[A-Za-z0-9_-]{43}\.(0|[1-9]\d{0,10})\.(0|[1-9]\d{0,77})\.([A-Za-z0-9_-]{16})$/

/** Parses an id. The HMAC is verified by making the challenge again. */
export const parseChallengeId = (id: string): Option.Option<ParsedChallengeId> => {
  const [, expires, amount, seed] = pattern.exec(id) ?? []
  return expires === undefined || amount === undefined || seed === undefined
    ? Option.none()
    : Option.some({ expires: Number(expires), amount: BigInt(amount), seed })
}

const timestamp = (moment: DateTime.Utc) => DateTime.formatIso(moment).replace(".000Z", "Z")

/** Base64url of ASCII text. Hot path: `Encoding` takes five times as long. */
const encodeAscii = (text: string) => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")

/** Memoized requests by price; cleared when callers cause too many. */
const maximumKnownRequests = 1_000
const requestsOf = oncePerObject((_: PaymentTerms) => new Map<bigint, string>())

const encodeRequest = (terms: PaymentTerms, amount: bigint): string => {
  const known = requestsOf(terms)
  const found = known.get(amount)
  if (found !== undefined) return found
  const { chainId, currency, recipient } = terms
  const made = Encoding.encodeBase64Url(
    encodeCanonicalJson({ amount: String(amount), currency, recipient, methodDetails: { chainId } })
  )
  if (known.size === maximumKnownRequests) known.clear()
  known.set(amount, made)
  return made
}

/**
 * Makes the challenge of a request. Deterministic in the seed: request and id suffice to make it again, so it is not
 * stored. The HMAC covers the rest of the id.
 */
export const makeChallenge = (
  digests: PaymentDigests,
  terms: PaymentTerms,
  { amount, body, description, plugin, route }: PaidRequest,
  { expires, seed }: ChallengeSeed
): Challenge => {
  const { currency, realm, recipient } = terms
  const expiresAt = DateTime.unsafeMake(Math.min(expires, largestSecond) * 1000)
  const parts: ChallengeParts = {
    realm,
    method: paymentMethod,
    intent: paymentIntent,
    request: encodeRequest(terms, amount),
    expires: timestamp(expiresAt),
    digest: `sha-256=:${digests.sha256(body)}:`,
    // Members in canonical order; the seed needs no escapes.
    opaque: encodeAscii(`{"plugin":${JSON.stringify(plugin)},"route":${JSON.stringify(route)},"seed":"${seed}"}`)
  }
  const id = ChallengeId.make(`${bindChallenge(digests, parts)}.${expires}.${amount}.${seed}`)
  return { id, expiresAt, amount, currency, recipient, description, ...parts }
}
