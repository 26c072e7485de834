import { Context, Data, type DateTime, Duration, type Effect, type Redacted } from "effect"
import type { SessionId } from "./Session.ts"
import type { UserId } from "../shared/UserId.ts"

/** Whose token it is, and the session that it was got with. */
export interface AccessTokenClaims {
  readonly userId: UserId
  readonly sessionId: SessionId
}

/** Not a token of this service, or not one that is good now. `reason` never quotes it. */
export class AccessTokenInvalid extends Data.TaggedError("AccessTokenInvalid")<{ readonly reason: string }> {}

export const accessTokenLifetime = Duration.minutes(15)

/** A public key as a JWK (RFC 8037): whoever has it can check a token, and make none. */
export interface AccessTokenPublicKey {
  readonly kty: "OKP"
  readonly crv: "Ed25519"
  /** The key, base64url. */
  readonly x: string
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly alg: "EdDSA"
  readonly use: "sig"
}

/**
 * Short-lived signed tokens in place of a session cookie, for clients that send `Authorization: Bearer`. A token proves who
 * it was made for; whether his session still stands is asked for apart (`BearerSessions`).
 */
export class AccessTokens extends Context.Tag("@berth/AccessTokens")<
  AccessTokens,
  {
    /** A token that is good for `accessTokenLifetime`. */
    readonly issue: (
      claims: AccessTokenClaims
    ) => Effect.Effect<{ readonly token: Redacted.Redacted; readonly expiresAt: DateTime.Utc }>
    readonly verify: (token: Redacted.Redacted) => Effect.Effect<AccessTokenClaims, AccessTokenInvalid>
    /** What others check tokens by. */
    readonly publicKeys: ReadonlyArray<AccessTokenPublicKey>
  }
>() {}
