import { parseWalletAddress } from "@berth/domain/chain/WalletAddress"
import {
  SocialIdentityUnavailable,
  SocialIdentityTokens,
  SocialTokenRejected
} from "@berth/domain/signin/social/SocialIdentity"
import { DateTime, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from "jose"
import { makeProviderFetch, findRequestFailure } from "./ProviderFetch.ts"

export interface JwksSocialIdentityTokensOptions {
  /** Where the issuer's public keys are. */
  readonly jwksUrl: URL
  /** As in `iss`. */
  readonly issuer: string
  /** As in `aud`: our own name. */
  readonly audience: string
  /** How long fetching the keys may take; 5 s when absent. */
  readonly timeout?: Duration.Duration
  /** How long after keys were fetched an unknown key id fetches them again; 30 s when absent. */
  readonly cooldown?: Duration.Duration
}

/** Those of public keys only: with a shared secret whoever can read the keys could make tokens. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
/** Ours have some four hundred; nothing longer is looked into. */
const maximumLength = 8192
/** How far the issuer's clock may be off. */
const clockTolerance = Duration.seconds(5)

/** Farcaster writes `sub` as a number, the standard as text. */
const Claims = Schema.Struct({
  sub: Schema.Union(
    Schema.Int.pipe(Schema.positive()),
    Schema.String.pipe(Schema.filter((text) => text.trim() !== "" && text.length <= 100))
  ),
  address: Schema.optional(Schema.Unknown)
})
const decodeClaims = Schema.decodeUnknown(Claims)

const refused = (reason: string) => new SocialTokenRejected({ reason })
const unavailable = (reason: string) => new SocialIdentityUnavailable({ reason })

/** What of the library's errors is the token's fault; everything else is about the keys. */
const isTokenFault = (error: unknown) =>
  error instanceof errors.JWTClaimValidationFailed ||
  error instanceof errors.JWTExpired ||
  error instanceof errors.JWTInvalid ||
  error instanceof errors.JWSInvalid ||
  error instanceof errors.JWSSignatureVerificationFailed ||
  error instanceof errors.JOSEAlgNotAllowed ||
  error instanceof errors.JOSENotSupported ||
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys

const failureOf = (error: unknown) => {
  const trouble = findRequestFailure(error)
  if (trouble !== undefined) return unavailable(trouble.reason)
  const code = error instanceof errors.JOSEError ? error.code : "the keys cannot be read"
  return isTokenFault(error) ? refused(code) : unavailable(code)
}

/** ID tokens by the issuer's published keys, which are kept for ten minutes and fetched again when a token names a new one. */
export const layer = ({
  audience,
  cooldown = Duration.seconds(30),
  issuer,
  jwksUrl,
  timeout = Duration.seconds(5)
}: JwksSocialIdentityTokensOptions): Layer.Layer<SocialIdentityTokens> =>
  Layer.sync(SocialIdentityTokens, () => {
    const keys = createRemoteJWKSet(jwksUrl, {
      timeoutDuration: Duration.toMillis(timeout),
      cooldownDuration: Duration.toMillis(cooldown),
      [customFetch]: makeProviderFetch({ timeoutMillis: Duration.toMillis(timeout) })
    })
    return SocialIdentityTokens.of({
      verify: Effect.fn("SocialIdentityTokens.verify")(function* (token: Redacted.Redacted) {
        if (Redacted.value(token).length > maximumLength) return yield* refused("it is too long")
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
          catch: failureOf
        }).pipe(
          Effect.tapErrorTag("SocialIdentityUnavailable", ({ reason }) =>
            Effect.logWarning("The keys of social identity cannot be had").pipe(Effect.annotateLogs({ reason }))
          )
        )
        const { address, sub } = yield* Effect.mapError(decodeClaims(payload), () =>
          refused("its claims are not what they should be")
        )
        return {
          issuer,
          fid: String(sub),
          address: typeof address === "string" ? parseWalletAddress(address) : Option.none()
        }
      })
    })
  })
