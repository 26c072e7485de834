import {
  type AccessTokenClaims,
  AccessTokenInvalid,
  accessTokenLifetime,
  AccessTokens,
  type AccessTokenPublicKey
} from "@berth/domain/sessions/AccessTokens"
import { SessionId } from "@berth/domain/sessions/Session"
import { DateTime, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { calculateJwkThumbprint, errors, exportJWK, jwtVerify, SignJWT } from "jose"
import { createPublicKey, type KeyObject, randomUUID } from "node:crypto"
import { UserId } from "@berth/domain/shared/UserId"

export interface JoseAccessTokensOptions {
  /** Ed25519. */
  readonly key: Redacted.Redacted<KeyObject>
  /** Origin of the service. */
  readonly issuer: string
  /** Base URL of the API. */
  readonly audience: string
}

const algorithm = "EdDSA"
/** RFC 9068: excludes other kinds of tokens signed by the same key. */
const type = "at+jwt"
/** RFC 9068 requires the claims `client_id` and `jti`; users have no other client. */
const clientId = "berth"
/** Issued tokens have about 500 characters. */
const maximumLength = 4096

const Claims = Schema.Struct({ sub: UserId, sid: SessionId })

const invalid = (reason: string) => new AccessTokenInvalid({ reason })

/** Requires the canonical form of a signature: base64url leaves bits of the last character unused (RFC 4648 3.5). */
const hasCanonicalSignature = (token: string) => {
  const signature = token.slice(token.lastIndexOf(".") + 1)
  return Buffer.from(signature, "base64url").toString("base64url") === signature
}

const publicKeyOf = async (key: KeyObject): Promise<AccessTokenPublicKey> => {
  const { x = "" } = await exportJWK(key)
  const jwk = { kty: "OKP", crv: "Ed25519", x } as const
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: algorithm, use: "sig" }
}

/** Ed25519 JWTs. Algorithm, issuer, audience and type are fixed, regardless of the token's header. */
export const layer = ({ audience, issuer, key }: JoseAccessTokensOptions): Layer.Layer<AccessTokens> =>
  Layer.effect(
    AccessTokens,
    Effect.gen(function* () {
      const verifyingKey = createPublicKey(Redacted.value(key))
      const publicKey = yield* Effect.promise(() => publicKeyOf(verifyingKey))

      return AccessTokens.of({
        publicKeys: [publicKey],
        issue: Effect.fn("AccessTokens.issue")(function* ({ sessionId, userId }: AccessTokenClaims) {
          // JWT times are whole seconds.
          const issuedAt = Math.floor((yield* DateTime.now).epochMillis / 1000)
          const expiresAt = issuedAt + Duration.toSeconds(accessTokenLifetime)
          const token = yield* Effect.promise(() =>
            new SignJWT({ sid: sessionId, client_id: clientId })
              .setProtectedHeader({ alg: algorithm, typ: type, kid: publicKey.kid })
              .setIssuer(issuer)
              .setAudience(audience)
              .setSubject(userId)
              .setJti(randomUUID())
              .setIssuedAt(issuedAt)
              .setExpirationTime(expiresAt)
              .sign(Redacted.value(key))
          )
          return { token: Redacted.make(token), expiresAt: DateTime.unsafeMake(expiresAt * 1000) }
        }),
        verify: Effect.fn("AccessTokens.verify")(function* (token: Redacted.Redacted) {
          if (Redacted.value(token).length > maximumLength) return yield* invalid("it is too long")
          if (!hasCanonicalSignature(Redacted.value(token)))
            return yield* invalid("its signature is not canonical base64url")
          const currentDate = DateTime.toDate(yield* DateTime.now)
          const { payload } = yield* Effect.tryPromise({
            try: () =>
              jwtVerify(Redacted.value(token), verifyingKey, {
                algorithms: [algorithm],
                typ: type,
                issuer,
                audience,
                requiredClaims: ["exp", "iat", "sub", "sid"],
                currentDate
              }),
            catch: (cause) => cause
          }).pipe(
            Effect.catchAll((cause) => (cause instanceof errors.JOSEError ? invalid(cause.code) : Effect.die(cause)))
          )
          const { sid, sub } = yield* Effect.mapError(Schema.decodeUnknown(Claims)(payload), () =>
            invalid("its claims are not ours")
          )
          return { userId: sub, sessionId: sid }
        })
      })
    })
  )
