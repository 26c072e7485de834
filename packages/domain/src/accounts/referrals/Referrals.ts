import { DateTime, Effect, Option } from "effect"
import { ReferralCodeInvalid } from "../AccountErrors.ts"
import { AccountPolicy } from "../AccountPolicy.ts"
import { maximumDailyReferralRewards, parseReferralCode } from "./ReferralCode.ts"
import { ReferralRepository } from "./ReferralRepository.ts"
import type { User, UserId } from "../../shared/User.ts"
import { UserRepository } from "../UserRepository.ts"

const startOfDay = Effect.map(DateTime.now, DateTime.startOf("day"))

/** Credits for bringing people in. */
export class Referrals extends Effect.Service<Referrals>()("@berth/Referrals", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const rewards = yield* ReferralRepository
    const rules = yield* AccountPolicy

    /** Whose code a text is. */
    const findReferrer = Effect.fn("Referrals.findReferrer")(function* (text: string) {
      const code = yield* Effect.mapError(parseReferralCode(text), () => new ReferralCodeInvalid())
      const referrer = yield* users.findByReferralCode(code)
      return yield* Effect.mapError(referrer, () => new ReferralCodeInvalid())
    })

    /** Pays what a newcomer's referral gives, once. Joins the running transaction. */
    const payReward = Effect.fn("Referrals.payReward")(function* (newcomerId: UserId) {
      const taken = yield* rewards.claimPending(newcomerId, yield* DateTime.now)
      if (Option.isNone(taken)) return
      const { newcomerCredits, referrerCredits, referrerId } = taken.value
      if (referrerId !== null) yield* users.addCredits(referrerId, referrerCredits)
      yield* users.addCredits(newcomerId, newcomerCredits)
    })

    /**
     * Promises both sides of a registration their credits, and pays at once where no confirmed e-mail is asked for. Who has
     * brought in ten this day gets nothing for the next one, who gets his all the same. Joins the running transaction.
     */
    const recordReferral = Effect.fn("Referrals.recordReferral")(function* (referrer: User, newcomer: User) {
      // Nobody counts between another's count and its reward.
      if (Option.isNone(yield* users.findForUpdate(referrer.id))) return
      const today = yield* rewards.countSince(referrer.id, yield* startOfDay)
      yield* rewards.insert(
        {
          newcomerId: newcomer.id,
          referrerId: referrer.id,
          newcomerCredits: rules.referralCredits,
          referrerCredits: today < maximumDailyReferralRewards ? rules.referralCredits : 0
        },
        yield* DateTime.now
      )
      if (!rules.verifiedEmailsOnly) yield* payReward(newcomer.id)
    })

    /** What a user's own code has brought him. */
    const summarize = Effect.fn("Referrals.summarize")(function* (user: User) {
      const totals = yield* rewards.findTotals(user.id)
      const today = yield* rewards.countSince(user.id, yield* startOfDay)
      return {
        code: user.referralCode,
        credits: rules.referralCredits,
        ...totals,
        rewardsLeftToday: Math.max(0, maximumDailyReferralRewards - today)
      }
    })

    return { findReferrer, recordReferral, payReward, summarize }
  })
}) {}
