import { Context, Data, type DateTime, Duration, type Effect, type Redacted } from "effect"
import type { SessionId } from "./Session.ts"
import type { UserId } from "../shared/UserId.ts"

export interface AccessTokenClaims {
  readonly userId: UserId
  readonly sessionId: SessionId
}

/** `reason` never quotes the token. */
export class AccessTokenInvalid extends Data.TaggedError("AccessTokenInvalid")<{ readonly reason: string }> {}

export const accessTokenLifetime = Duration.minutes(15)

/** Public key as a JWK (RFC 8037). */
export interface AccessTokenPublicKey {
  readonly kty: "OKP"
  readonly crv: "Ed25519"
  /** Base64url. */
  readonly x: string
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly alg: "EdDSA"
  readonly use: "sig"
}

/** Short-lived JWTs issued from a session. `verify` does not check that the session exists; `BearerSessions` does. */
export class AccessTokens extends Context.Tag("@berth/AccessTokens")<
  AccessTokens,
  {
    readonly issue: (
      claims: AccessTokenClaims
    ) => Effect.Effect<{ readonly token: Redacted.Redacted; readonly expiresAt: DateTime.Utc }>
    readonly verify: (token: Redacted.Redacted) => Effect.Effect<AccessTokenClaims, AccessTokenInvalid>
    readonly publicKeys: ReadonlyArray<AccessTokenPublicKey>
  }
>() {}
