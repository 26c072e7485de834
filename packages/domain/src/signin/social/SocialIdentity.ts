import { Context, Data, type Effect, type Option, type Redacted } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"

/** Invalid ID token. `reason` is for the log and quotes nothing. */
export class SocialTokenRejected extends Data.TaggedError("SocialTokenRejected")<{ readonly reason: string }> {}
/** The issuer's keys are unavailable, so the token cannot be checked. */
export class SocialIdentityUnavailable extends Data.TaggedError("SocialIdentityUnavailable")<{
  readonly reason: string
}> {}

/** Claims of an ID token of the social identity network. */
export interface SocialIdentity {
  readonly issuer: string
  /** Claim `sub`. */
  readonly fid: string
  /** The user's wallet according to the token. */
  readonly address: Option.Option<WalletAddress>
}

/** Verifies ID tokens: signature, issuer, audience, times. */
export class SocialIdentityTokens extends Context.Tag("@berth/SocialIdentityTokens")<
  SocialIdentityTokens,
  {
    readonly verify: (
      token: Redacted.Redacted
    ) => Effect.Effect<SocialIdentity, SocialTokenRejected | SocialIdentityUnavailable>
  }
>() {}
