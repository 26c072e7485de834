import { Context, type Effect, type Redacted } from "effect"

/** Bearer secrets: 256 random bits as base64url. Only the hash of a token is ever stored for look-up. */
export class Tokens extends Context.Tag("@berth/Tokens")<
  Tokens,
  {
    readonly make: Effect.Effect<Redacted.Redacted>
    /** SHA-256 of the token, lower-case hex. */
    readonly hash: (token: Redacted.Redacted) => string
    /** Constant-time comparison. */
    readonly equal: (a: Redacted.Redacted, b: Redacted.Redacted) => boolean
  }
>() {}
