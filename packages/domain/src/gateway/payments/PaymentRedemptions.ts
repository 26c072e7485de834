import { Context, Data, type DateTime, Duration, type Effect, type Option, Schema } from "effect"
import type { LeaseSubscription } from "../../limits/Lease.ts"
import type { ChallengeId } from "./Challenge.ts"
import type { PaidAnswer } from "./PaidAnswer.ts"

/** A transaction presented for a challenge. */
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

/** Exclusive right to answer a payment until the lease expires. */
export const RedemptionClaimId = Schema.String.pipe(Schema.brand("RedemptionClaimId"))
export type RedemptionClaimId = typeof RedemptionClaimId.Type

export interface RedemptionClaim {
  readonly id: RedemptionClaimId
  readonly challengeId: ChallengeId
}

export type RedemptionOutcome = Data.TaggedEnum<{
  /** The caller must settle and complete the claim, or release it. */
  readonly Claimed: {
    readonly claim: RedemptionClaim
    /** Present once the payment was found settled, under this claim or an earlier one. */
    readonly settledAt: Option.Option<DateTime.Utc>
  }
  /** Another request holds the claim. */
  readonly InProgress: object
  /** The call was answered, and its answer is still stored. */
  readonly Answered: { readonly answer: PaidAnswer; readonly settledAt: DateTime.Utc }
  /** The challenge was answered, or paid by another transaction. */
  readonly ChallengeUsed: object
  /** The transaction was presented for another challenge. */
  readonly TransactionUsed: object
  /** The call has failed `maximumPaidRuns` times. */
  readonly RunsExhausted: object
}>
export const RedemptionOutcome = Data.taggedEnum<RedemptionOutcome>()

/** Retention of payments, and the time within which an unanswered payment can be redeemed. */
export const redemptionLifetime = Duration.days(30)
/** Retention of the answer of a paid call, for repetitions of the request. */
export const paidAnswerLifetime = Duration.hours(24)
/** Maximum runs of the plugin per payment. */
export const maximumPaidRuns = 3

/**
 * Pairs of transaction and challenge, shared by all processes. Each belongs to exactly one pair, and a pair pays for
 * one answer. Order: claimed, settled (the payment is final), run, completed.
 */
export class PaymentRedemptions extends Context.Tag("@berth/PaymentRedemptions")<
  PaymentRedemptions,
  {
    /** Returns the first transaction presented for a challenge. */
    readonly findTransaction: (challengeId: ChallengeId) => Effect.Effect<Option.Option<string>>
    /** Of concurrent calls exactly one receives the claim. */
    readonly claim: (payment: Payment) => Effect.Effect<RedemptionOutcome>
    /** Subscribes to the end of a challenge's claim. */
    readonly subscribe: (challengeId: ChallengeId) => LeaseSubscription
    /** Extends the lease; false if the claim is lost. The same applies to the methods below. */
    readonly renew: (claim: RedemptionClaim) => Effect.Effect<boolean>
    /** Records that the payment is final. Returns the time of the first record; none if the claim is lost. */
    readonly settle: (claim: RedemptionClaim) => Effect.Effect<Option.Option<DateTime.Utc>>
    /** Counts a run of the plugin. */
    readonly beginRun: (claim: RedemptionClaim) => Effect.Effect<boolean>
    /** Consumes the payment and stores the answer for `paidAnswerLifetime`. */
    readonly complete: (claim: RedemptionClaim, answer: PaidAnswer) => Effect.Effect<boolean>
    /** Ends the claim without an answer. */
    readonly release: (claim: RedemptionClaim) => Effect.Effect<void>
    /** Deletes expired payments and answers; returns the number of payments. */
    readonly prune: Effect.Effect<number>
  }
>() {}
