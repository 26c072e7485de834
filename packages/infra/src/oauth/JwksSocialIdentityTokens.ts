import { parseWalletAddress } from "@berth/domain/chain/WalletAddress"
import {
  SocialIdentityUnavailable,
  SocialIdentityTokens,
  SocialTokenRejected
} from "@berth/domain/signin/social/SocialIdentity"
import { DateTime, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from "jose"
import { makeProviderFetch, findRequestFailure } from "./ProviderFetch.ts"

interface JwksSocialIdentityTokensOptions {
  readonly jwksUrl: URL
  /** Expected `iss`. */
  readonly issuer: string
  /** Expected `aud`. */
  readonly audience: string
  /** Timeout of fetching the keys; default: 5 s. */
  readonly timeout?: Duration.Duration
}

/** Asymmetric algorithms only, since an HMAC algorithm would make the published key a signing secret. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
/** Tokens usually have about 400 characters. */
const maximumLength = 8192
/** Minimum time between two fetches for an unknown key id. */
const fetchInterval = Duration.seconds(30)
const clockTolerance = Duration.seconds(5)

/** Farcaster encodes `sub` as a number. */
const Claims = Schema.Struct({
  sub: Schema.Union(
    Schema.Int.pipe(Schema.positive()),
    Schema.String.pipe(Schema.filter((text) => text.trim() !== "" && text.length <= 100))
  ),
  address: Schema.optional(Schema.Unknown)
})
const decodeClaims = Schema.decodeUnknown(Claims)

const rejected = (reason: string) => new SocialTokenRejected({ reason })
const unavailable = (reason: string) => new SocialIdentityUnavailable({ reason })

/** Errors caused by the token; all others concern the keys. */
const isTokenError = (error: unknown) =>
  error instanceof errors.JWTClaimValidationFailed ||
  error instanceof errors.JWTExpired ||
  error instanceof errors.JWTInvalid ||
  error instanceof errors.JWSInvalid ||
  error instanceof errors.JWSSignatureVerificationFailed ||
  error instanceof errors.JOSEAlgNotAllowed ||
  error instanceof errors.JOSENotSupported ||
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys

const toFailure = (error: unknown) => {
  const requestFailure = findRequestFailure(error)
  if (requestFailure !== undefined) return unavailable(requestFailure.reason)
  const code = error instanceof errors.JOSEError ? error.code : "malformed keys"
  return isTokenError(error) ? rejected(code) : unavailable(code)
}

/** Keys are cached for ten minutes, and fetched again for an unknown key id. */
export const layer = ({
  audience,
  issuer,
  jwksUrl,
  timeout = Duration.seconds(5)
}: JwksSocialIdentityTokensOptions): Layer.Layer<SocialIdentityTokens> =>
  Layer.sync(SocialIdentityTokens, () => {
    const keys = createRemoteJWKSet(jwksUrl, {
      timeoutDuration: Duration.toMillis(timeout),
      cooldownDuration: Duration.toMillis(fetchInterval),
      [customFetch]: makeProviderFetch(timeout)
    })
    return SocialIdentityTokens.of({
      verify: Effect.fn("SocialIdentityTokens.verify")(function* (token: Redacted.Redacted) {
        if (Redacted.value(token).length > maximumLength) return yield* rejected("token too long")
        const currentDate = DateTime.toDate(yield* DateTime.now)
        const { payload } = yield* Effect.tryPromise({
          try: () =>
            jwtVerify(Redacted.value(token), keys, {
              algorithms,
              issuer,
              audience,
              requiredClaims: ["exp", "iat", "sub"],
              clockTolerance: Duration.toSeconds(clockTolerance),
              currentDate
            }),
          catch: toFailure
        }).pipe(
          Effect.tapErrorTag("SocialIdentityUnavailable", ({ reason }) =>
            Effect.logWarning("Social identity keys unavailable").pipe(Effect.annotateLogs({ reason }))
          )
        )
        const { address, sub } = yield* Effect.mapError(decodeClaims(payload), () => rejected("malformed claims"))
        return {
          issuer,
          fid: String(sub),
          address: typeof address === "string" ? parseWalletAddress(address) : Option.none()
        }
      })
    })
  })
