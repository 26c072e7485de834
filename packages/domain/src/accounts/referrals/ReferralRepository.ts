import { Context, type DateTime, type Effect, type Option } from "effect"
import type { Credits } from "../../shared/Money.ts"
import type { UserId } from "../../shared/UserId.ts"

/** The credits of one referral. `referrerId` is null once the referrer's account is deleted. */
interface ReferralReward {
  readonly newcomerId: UserId
  readonly referrerId: UserId | null
  readonly newcomerCredits: Credits
  readonly referrerCredits: Credits
}

interface ReferralTotals {
  readonly referrals: number
  /** Referrals whose reward waits for a verified address. */
  readonly pending: number
  readonly earnedCredits: Credits
}

export class ReferralRepository extends Context.Tag("@berth/ReferralRepository")<
  ReferralRepository,
  {
    readonly insert: (
      reward: ReferralReward & { readonly referrerId: UserId },
      now: DateTime.Utc
    ) => Effect.Effect<void>
    /** Rewarded referrals of the referrer since `since`, pending ones included. */
    readonly countSince: (referrerId: UserId, since: DateTime.Utc) => Effect.Effect<number>
    /** Marks the new user's reward as paid; none if it is paid. Of concurrent calls exactly one receives it. */
    readonly claimPending: (newcomerId: UserId, now: DateTime.Utc) => Effect.Effect<Option.Option<ReferralReward>>
    readonly findTotals: (referrerId: UserId) => Effect.Effect<ReferralTotals>
  }
>() {}
