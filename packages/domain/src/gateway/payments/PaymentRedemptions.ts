import { Context, Data, type DateTime, Duration, type Effect, type Option, Schema } from "effect"
import type { ChallengeId } from "./Challenge.ts"

/** What was paid for, by which transaction. */
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

/** The right to answer for a payment. Whoever claims it after the lease has ended gets another one. */
export const RedemptionClaimId = Schema.String.pipe(Schema.brand("RedemptionClaimId"))
export type RedemptionClaimId = typeof RedemptionClaimId.Type

export interface RedemptionClaim {
  readonly id: RedemptionClaimId
  readonly challengeId: ChallengeId
}

export type RedemptionOutcome = Data.TaggedEnum<{
  /** The caller works on it: it settles and answers, or releases. */
  readonly Claimed: {
    readonly claim: RedemptionClaim
    /** When the payment was found settled, by this caller or one before it. */
    readonly settledAt: Option.Option<DateTime.Utc>
  }
  /** Another request works on it. */
  readonly InProgress: object
  /** The challenge has been answered, or was given with another transaction. */
  readonly ChallengeUsed: object
  /** The transaction was given for another challenge. */
  readonly TransactionUsed: object
}>
export const RedemptionOutcome = Data.taggedEnum<RedemptionOutcome>()

/** How long a claim lasts without being renewed, by the store's clock: a process that died lets go after this. */
export const redemptionLease = Duration.seconds(15)
/** How long a payment is remembered, and how long one that was never answered can still be redeemed. */
export const redemptionLifetime = Duration.days(30)

/**
 * Which challenge was met by which transaction, shared by all processes: each of the two is good for the other and for nothing
 * else, and together they are answered once. First claimed, then settled (the payment is final), then answered.
 */
export class PaymentRedemptions extends Context.Tag("@berth/PaymentRedemptions")<
  PaymentRedemptions,
  {
    /** The transaction that a challenge was first given with. */
    readonly findTransaction: (challengeId: ChallengeId) => Effect.Effect<Option.Option<string>>
    /** Of any number at once one gets it. */
    readonly claim: (payment: Payment) => Effect.Effect<RedemptionOutcome>
    /** Extends the lease of work that takes long; false when the claim is lost, here and below. */
    readonly renew: (claim: RedemptionClaim) => Effect.Effect<boolean>
    /** The payment is final. Answers since when; none when the claim is lost. */
    readonly settle: (claim: RedemptionClaim) => Effect.Effect<Option.Option<DateTime.Utc>>
    /** The call that was paid for has its answer: the payment is used up. */
    readonly complete: (claim: RedemptionClaim) => Effect.Effect<boolean>
    /** Work on it has ended without an answer: the next one may claim it at once. */
    readonly release: (claim: RedemptionClaim) => Effect.Effect<void>
    /** Deletes payments past their lifetime; answers how many. */
    readonly prune: Effect.Effect<number>
  }
>() {}
