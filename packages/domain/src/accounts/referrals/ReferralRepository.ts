import { Context, type DateTime, type Effect, type Option } from "effect"
import type { UserId } from "../../shared/User.ts"

/** What one referral gives, in credits. A referrer who has gone gets nothing. */
export interface ReferralReward {
  readonly newcomerId: UserId
  readonly referrerId: UserId | null
  readonly newcomerCredits: number
  /** 0 when he had had enough of them that day. */
  readonly referrerCredits: number
}

export interface ReferralTotals {
  /** People who came by the user's code. */
  readonly referrals: number
  /** Of those, how many have not confirmed their e-mail yet. */
  readonly pending: number
  /** Credits that the user got for them. */
  readonly earnedCredits: number
}

export class ReferralRepository extends Context.Tag("@berth/ReferralRepository")<
  ReferralRepository,
  {
    readonly insert: (
      reward: ReferralReward & { readonly referrerId: UserId },
      now: DateTime.Utc
    ) => Effect.Effect<void>
    /** How many referrals since then gave the referrer anything, or will. */
    readonly countSince: (referrerId: UserId, since: DateTime.Utc) => Effect.Effect<number>
    /** The newcomer's reward, if it has not been paid: from now on it is. Of any number at once one gets it. */
    readonly claimPending: (newcomerId: UserId, now: DateTime.Utc) => Effect.Effect<Option.Option<ReferralReward>>
    readonly findTotals: (referrerId: UserId) => Effect.Effect<ReferralTotals>
  }
>() {}
