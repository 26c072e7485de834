import { Context, Data, type DateTime, Duration, type Effect, type Option, Schema } from "effect"
import type { LeaseSubscription } from "../../limits/Lease.ts"
import type { ChallengeId } from "./Challenge.ts"
import type { PaidAnswer } from "./PaidAnswer.ts"

/** A transaction that is shown for a challenge. */
export interface Payment {
  readonly challengeId: ChallengeId
  /** `0x` and 64 hex digits in lower case. */
  readonly transactionHash: string
  readonly plugin: string
  readonly chainId: number
  readonly currency: string
  readonly recipient: string
  /** In the token's smallest units. */
  readonly amount: bigint
}

/** The exclusive right to answer a payment, until its lease ends. */
export const RedemptionClaimId = Schema.String.pipe(Schema.brand("RedemptionClaimId"))
export type RedemptionClaimId = typeof RedemptionClaimId.Type

export interface RedemptionClaim {
  readonly id: RedemptionClaimId
  readonly challengeId: ChallengeId
}

export type RedemptionOutcome = Data.TaggedEnum<{
  /** The caller settles and completes the claim, or releases it. */
  readonly Claimed: {
    readonly claim: RedemptionClaim
    /** Set once the payment was found settled, under this claim or an earlier one. */
    readonly settledAt: Option.Option<DateTime.Utc>
  }
  /** Another request holds the claim. */
  readonly InProgress: object
  /** The call was answered, and its answer is still kept. */
  readonly Answered: { readonly answer: PaidAnswer; readonly settledAt: DateTime.Utc }
  /** The challenge was answered, or was paid by another transaction. */
  readonly ChallengeUsed: object
  /** The transaction was shown for another challenge. */
  readonly TransactionUsed: object
  /** The call has failed `maximumPaidRuns` times. */
  readonly RunsExhausted: object
}>
export const RedemptionOutcome = Data.taggedEnum<RedemptionOutcome>()

/** How long a payment is kept, and how long an unanswered one can be redeemed. */
export const redemptionLifetime = Duration.days(30)
/** How long the answer of a paid call is kept for repeats of the request. */
export const paidAnswerLifetime = Duration.hours(24)
/** Runs of the plugin that one payment covers. */
export const maximumPaidRuns = 3

/**
 * Which transaction paid for which challenge, shared by all processes. Each is good for the other only, and both for one
 * answer. Order: claimed, settled (the payment is final), run, completed.
 */
export class PaymentRedemptions extends Context.Tag("@berth/PaymentRedemptions")<
  PaymentRedemptions,
  {
    /** The first transaction that was shown for a challenge. */
    readonly findTransaction: (challengeId: ChallengeId) => Effect.Effect<Option.Option<string>>
    /** Of concurrent calls, one gets the claim. */
    readonly claim: (payment: Payment) => Effect.Effect<RedemptionOutcome>
    /** Subscribes to the end of the claim of a challenge. */
    readonly subscribe: (challengeId: ChallengeId) => LeaseSubscription
    /** Extends the lease; false when the claim is lost, as below. */
    readonly renew: (claim: RedemptionClaim) => Effect.Effect<boolean>
    /** Records that the payment is final. Returns since when; none when the claim is lost. */
    readonly settle: (claim: RedemptionClaim) => Effect.Effect<Option.Option<DateTime.Utc>>
    /** Counts a run of the plugin. */
    readonly beginRun: (claim: RedemptionClaim) => Effect.Effect<boolean>
    /** Uses the payment up and keeps the answer for `paidAnswerLifetime`. */
    readonly complete: (claim: RedemptionClaim, answer: PaidAnswer) => Effect.Effect<boolean>
    /** Ends the claim without an answer. */
    readonly release: (claim: RedemptionClaim) => Effect.Effect<void>
    /** Deletes expired payments and answers; returns how many payments. */
    readonly prune: Effect.Effect<number>
  }
>() {}
