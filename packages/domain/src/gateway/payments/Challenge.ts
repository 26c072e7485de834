import { DateTime, Duration, Encoding, Option, Schema } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"
import { encodeCanonicalJson } from "./CanonicalJson.ts"
import type { PaidRequest } from "./PaidRequest.ts"
import type { PaymentDigests } from "./PaymentDigests.ts"

/** The recipient, token and chain of machine payments. */
export interface PaymentTerms {
  /** The protection space of a challenge: the public host, with its port unless that is the scheme's default. */
  readonly realm: string
  /** EIP-155 id of a Tempo chain. */
  readonly chainId: number
  /** A TIP-20 token; all of them have six decimals. */
  readonly currency: WalletAddress
  readonly recipient: WalletAddress
}

/** A challenge that is not paid by then has expired. */
export const challengeLifetime = Duration.minutes(5)
export const paymentMethod = "tempo"
export const paymentIntent = "charge"

/** The HMAC, the second in which the challenge ends, and a seed of its own, with dots between. */
export const ChallengeId = Schema.String.pipe(Schema.brand("ChallengeId"))
export type ChallengeId = typeof ChallengeId.Type

/** What may not change between a challenge and the payment that answers it, as the "Payment" HTTP authentication draft names it. */
export interface ChallengeParts {
  readonly realm: string
  readonly method: string
  readonly intent: string
  /** Canonical JSON as base64url. */
  readonly request: string
  /** RFC 3339; empty where there is none, as with those below. */
  readonly expires: string
  /** RFC 9530, of the body. */
  readonly digest: string
  /** Canonical JSON as base64url. */
  readonly opaque: string
}

/** What somebody is asked to pay for one call. Nothing of it is stored. */
export interface Challenge extends ChallengeParts {
  readonly id: ChallengeId
  readonly expiresAt: DateTime.Utc
  /** In the token's smallest units, with the next two as the parts say them. */
  readonly amount: bigint
  readonly currency: string
  readonly recipient: string
  readonly description: string
}

/** The draft's binding: seven slots in fixed places. */
export const bindChallenge = ({ hmac }: PaymentDigests, parts: ChallengeParts): string =>
  hmac([parts.realm, parts.method, parts.intent, parts.request, parts.expires, parts.digest, parts.opaque].join("|"))

/** What of a challenge does not follow from the settings and the request: when it ends and what makes it one of its own. */
export interface ChallengeSeed {
  /** Whole seconds since the epoch. */
  readonly expires: number
  /** Sixteen letters, digits, hyphens and underscores. */
  readonly seed: string
}

const largestSecond = 99_999_999_999
const pattern = /^[A-Za-z0-9_-]{43}\.(0|[1-9]\d{0,10})\.([A-Za-z0-9_-]{16})$/

/** What an id says of itself; whether it is ours is seen by making the challenge again. */
export const parseChallengeId = (id: string): Option.Option<ChallengeSeed> => {
  const [, expires, seed] = pattern.exec(id) ?? []
  return expires === undefined || seed === undefined ? Option.none() : Option.some({ expires: Number(expires), seed })
}

const timestamp = (moment: DateTime.Utc) => DateTime.formatIso(moment).replace(".000Z", "Z")
const encoded = (value: Parameters<typeof encodeCanonicalJson>[0]) =>
  Encoding.encodeBase64Url(encodeCanonicalJson(value))

/**
 * The challenge for a request, the same for the same seed: who holds the request and the id can make it again, so that
 * asking for payment stores nothing. The draft's HMAC is the first part of the id; what follows cannot be changed without
 * it, since it is in its slots for the expiry and for opaque data.
 */
export const makeChallenge = (
  digests: PaymentDigests,
  { chainId, currency, realm, recipient }: PaymentTerms,
  { amount, body, description, plugin, route }: PaidRequest,
  { expires, seed }: ChallengeSeed
): Challenge => {
  const expiresAt = DateTime.unsafeMake(Math.min(expires, largestSecond) * 1000)
  const parts: ChallengeParts = {
    realm,
    method: paymentMethod,
    intent: paymentIntent,
    request: encoded({ amount: String(amount), currency, recipient, methodDetails: { chainId } }),
    expires: timestamp(expiresAt),
    digest: `sha-256=:${digests.sha256(body)}:`,
    opaque: encoded({ plugin, route, seed })
  }
  const id = ChallengeId.make(`${bindChallenge(digests, parts)}.${expires}.${seed}`)
  return { ...parts, id, expiresAt, amount, currency, recipient, description }
}
