import { Context, Data, type Effect, type Option, type Redacted } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"

/** Not an ID token that this service takes, or not one that is good now. `reason` is for our own log and quotes nothing. */
export class SocialTokenRejected extends Data.TaggedError("SocialTokenRejected")<{ readonly reason: string }> {}
/** The issuer's keys cannot be had, so nothing is known of the token. */
export class SocialIdentityUnavailable extends Data.TaggedError("SocialIdentityUnavailable")<{
  readonly reason: string
}> {}

/** Somebody of the social identity network, as its ID token says. */
export interface SocialIdentity {
  readonly issuer: string
  /** The network's id of him: the token's `sub`. */
  readonly fid: string
  /** A wallet that the token says is his. */
  readonly address: Option.Option<WalletAddress>
}

/** Reads the network's ID tokens: signature, issuer, audience and times. */
export class SocialIdentityTokens extends Context.Tag("@berth/SocialIdentityTokens")<
  SocialIdentityTokens,
  {
    readonly verify: (
      token: Redacted.Redacted
    ) => Effect.Effect<SocialIdentity, SocialTokenRejected | SocialIdentityUnavailable>
  }
>() {}
