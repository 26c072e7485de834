import { DateTime, Effect, Option } from "effect"
import { Credits } from "../../shared/Money.ts"
import { isInDomain } from "../../shared/Email.ts"
import type { User } from "../../shared/User.ts"
import { ReferralCodeInvalid } from "../AccountErrors.ts"
import { AccountPolicy } from "../AccountPolicy.ts"
import { UserRepository } from "../UserRepository.ts"
import { CreditGrants } from "./CreditGrants.ts"
import { maximumDailyReferralRewards, parseReferralCode } from "./ReferralCode.ts"
import { ReferralRepository } from "./ReferralRepository.ts"
import type { UserId } from "../../shared/UserId.ts"

const startOfDay = Effect.map(DateTime.now, DateTime.startOf("day"))

export class Referrals extends Effect.Service<Referrals>()("@berth/Referrals", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const rewards = yield* ReferralRepository
    const grants = yield* CreditGrants
    const policy = yield* AccountPolicy

    const findReferrer = Effect.fn("Referrals.findReferrer")(function* (text: string) {
      const code = yield* Effect.mapError(parseReferralCode(text), () => new ReferralCodeInvalid())
      const referrer = Option.filter(
        yield* users.findByReferralCode(code),
        // Credits are useless to an anonymous owner.
        ({ email }) => !isInDomain(email, policy.unclaimedEmailDomain)
      )
      return yield* Effect.mapError(referrer, () => new ReferralCodeInvalid())
    })

    /** Pays the reward for a new user. Idempotent. Joins the running transaction. */
    const payReward = Effect.fn("Referrals.payReward")(function* (newcomerId: UserId) {
      const claimed = yield* rewards.claimPending(newcomerId, yield* DateTime.now)
      if (Option.isNone(claimed)) return
      const { newcomerCredits, referrerCredits, referrerId } = claimed.value
      if (referrerId !== null) yield* grants.grant(referrerId, referrerCredits)
      yield* grants.grant(newcomerId, newcomerCredits)
    })

    /**
     * Records the reward of both users, and pays it at once where no verified address is required. The reward is 0
     * above the daily limit of the code. Joins the running transaction.
     */
    const recordReferral = Effect.fn("Referrals.recordReferral")(function* (referrer: User, newcomer: User) {
      // The lock makes count and insert atomic among registrations with the same code.
      if (Option.isNone(yield* users.findForUpdate(referrer.id))) return
      const today = yield* rewards.countSince(referrer.id, yield* startOfDay)
      const credits = today < maximumDailyReferralRewards ? policy.referralCredits : Credits(0)
      yield* rewards.insert(
        { newcomerId: newcomer.id, referrerId: referrer.id, newcomerCredits: credits, referrerCredits: credits },
        yield* DateTime.now
      )
      if (!policy.verifiedEmailsOnly) yield* payReward(newcomer.id)
    })

    /** Returns code, totals and remaining rewards of the user as a referrer. */
    const summarize = Effect.fn("Referrals.summarize")(function* (user: User) {
      const totals = yield* rewards.findTotals(user.id)
      const today = yield* rewards.countSince(user.id, yield* startOfDay)
      return {
        code: user.referralCode,
        credits: policy.referralCredits,
        ...totals,
        rewardsLeftToday: Math.max(0, maximumDailyReferralRewards - today)
      }
    })

    return { findReferrer, recordReferral, payReward, summarize }
  })
}) {}
