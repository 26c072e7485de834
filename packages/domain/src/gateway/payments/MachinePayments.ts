import { Data, DateTime, Duration, Effect, Either, Option, Redacted } from "effect"
import type { ChainUnreachable } from "../../chain/Chain.ts"
import { countPayment } from "../../billing/PaymentMetrics.ts"
import { awaitClaim, whileRenewed } from "../../limits/Lease.ts"
import { Digests } from "../../secrets/Digests.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import { type Challenge, type ChallengeId, challengeLifetime, makeChallenge, parseChallengeId } from "./Challenge.ts"
import { MachinePaymentSettings } from "./MachinePaymentSettings.ts"
import type { PaidAnswer } from "./PaidAnswer.ts"
import type { PaidRequest } from "./PaidRequest.ts"
import { matchesChallengeEcho, parsePaymentCredential } from "./PaymentCredential.ts"
import { makePaymentDigests } from "./PaymentDigests.ts"
import type { PaymentFailure } from "./PaymentFailure.ts"
import type { PaymentReceipt } from "./PaymentReceipt.ts"
import { PaymentRedemptions, type RedemptionClaim, RedemptionOutcome } from "./PaymentRedemptions.ts"
import {
  orReject,
  type PaymentRejected,
  PaymentSettlement,
  type PreparedPayment,
  rejectPayment
} from "./PaymentSettlement.ts"

export type RedemptionResult = Data.TaggedEnum<{
  /**
   * The caller has the exclusive right to answer while it holds `claim`. `amount`: the paid price in the token's
   * smallest units.
   */
  readonly Paid: { readonly claim: RedemptionClaim; readonly receipt: PaymentReceipt; readonly amount: bigint }
  /** Another request with the same credential is in progress. The payer must not pay again. */
  readonly InProgress: { readonly challengeId: ChallengeId }
  /** The call was answered by an earlier request. */
  readonly Answered: { readonly answer: PaidAnswer; readonly receipt: PaymentReceipt }
  readonly Unpaid: { readonly failure: PaymentFailure; readonly challenge: Challenge }
}>
export const RedemptionResult = Data.taggedEnum<RedemptionResult>()

/** Another request holds the claim. Internal. */
class PaymentClaimTaken extends Data.TaggedError("PaymentClaimTaken")<{ readonly challengeId: ChallengeId }> {}

const seedLength = 16

/**
 * Challenges and their redemption. A challenge and its transaction pay for exactly one call, for which the challenge
 * was issued, under any concurrency.
 */
export class MachinePayments extends Effect.Service<MachinePayments>()("@berth/MachinePayments", {
  effect: Effect.gen(function* () {
    const hashes = yield* Digests
    const redemptions = yield* PaymentRedemptions
    const settlement = yield* PaymentSettlement
    const terms = yield* MachinePaymentSettings
    const digests = makePaymentDigests(hashes, terms.secret)
    const tokens = yield* Tokens

    /** Issues a challenge for a request. Stores nothing. */
    const challenge = (request: PaidRequest): Effect.Effect<Challenge> =>
      Effect.clockWith((clock) =>
        Effect.map(tokens.make, (token) => {
          const seed = Redacted.value(token).slice(0, seedLength)
          const now = Math.floor(clock.unsafeCurrentTimeMillis() / 1000)
          return makeChallenge(digests, terms, request, { expires: now + Duration.toSeconds(challengeLifetime), seed })
        })
      ).pipe(withExportedSpan("MachinePayments.challenge"))

    /** Returns the failure of `Authorization` values without a usable credential; none if they contain one. */
    const findMissingCredential = (authorization: ReadonlyArray<string>) =>
      Either.getLeft(parsePaymentCredential(authorization))

    /** Returns the challenge of an id if this service issued it for this request. */
    const findChallenge = (id: string, request: PaidRequest) =>
      Option.filter(
        Option.map(parseChallengeId(id), ({ amount, ...seed }) =>
          makeChallenge(digests, terms, { ...request, amount }, seed)
        ),
        (issued) => hashes.equal(Redacted.make(issued.id), Redacted.make(id))
      )

    /** Renews the claim while `work` runs. */
    const whileClaimed = <A, E, R>(claim: RedemptionClaim, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      whileRenewed(redemptions.renew(claim))(work)

    const settle = (claim: RedemptionClaim, amount: bigint, { settle, transactionHash }: PreparedPayment) =>
      Effect.flatMap(
        Effect.zipRight(settle, redemptions.settle(claim)),
        Option.match({
          onNone: () => new PaymentClaimTaken({ challengeId: claim.challengeId }),
          onSome: (settledAt) =>
            Effect.sync(() => {
              countPayment("mpp", "paid")
              return RedemptionResult.Paid({ claim, receipt: { transactionHash, settledAt }, amount })
            })
        })
      )

    /** Claims a prepared payment and settles it, unless it is already settled. */
    const claimAndSettle = (challenge: Challenge, { plugin }: PaidRequest, prepared: PreparedPayment) => {
      const { transactionHash } = prepared
      const { amount } = challenge
      const { chainId, currency, recipient } = terms
      return Effect.flatMap(
        redemptions.claim({
          challengeId: challenge.id,
          transactionHash,
          plugin,
          chainId,
          currency,
          recipient,
          amount
        }),
        RedemptionOutcome.$match({
          InProgress: (): Effect.Effect<RedemptionResult, ChainUnreachable | PaymentRejected | PaymentClaimTaken> =>
            new PaymentClaimTaken({ challengeId: challenge.id }),
          Answered: ({ answer, settledAt }) =>
            Effect.succeed(RedemptionResult.Answered({ answer, receipt: { transactionHash, settledAt } })),
          ChallengeUsed: () => rejectPayment("challenge is used"),
          TransactionUsed: () => rejectPayment("transaction is used"),
          RunsExhausted: () => rejectPayment("runs are exhausted"),
          Claimed: ({ claim, settledAt }) =>
            Option.match(settledAt, {
              onSome: (since) =>
                Effect.succeed(
                  RedemptionResult.Paid({ claim, receipt: { transactionHash, settledAt: since }, amount })
                ),
              onNone: () =>
                Effect.onError(whileClaimed(claim, settle(claim, amount, prepared)), () => redemptions.release(claim))
            })
        })
      )
    }

    /**
     * Redeems the credential in the values of `Authorization` for a request. While the chain is unreachable, the
     * outcome is open and the same credential can be sent again.
     */
    const redeem = Effect.fn("MachinePayments.redeem")(
      function* (authorization: ReadonlyArray<string>, request: PaidRequest) {
        const credential = yield* orReject(parsePaymentCredential(authorization))
        const issued = yield* Effect.mapError(findChallenge(credential.challengeId, request), () =>
          rejectPayment("not our challenge")
        )
        if (!matchesChallengeEcho(issued, credential.echo)) return yield* rejectPayment("not our challenge")
        yield* Effect.annotateCurrentSpan("payment.challenge", issued.id)
        const claimed = yield* redemptions.findTransaction(issued.id)
        // A payment claimed in time stays redeemable after the expiry.
        if (Option.isNone(claimed) && DateTime.lessThanOrEqualTo(issued.expiresAt, yield* DateTime.now))
          return yield* rejectPayment("expired")
        return yield* claimAndSettle(issued, request, yield* settlement.prepare(issued, credential.proof, claimed))
      },
      (effect, _authorization, request) =>
        effect.pipe(
          Effect.catchTags({
            PaymentClaimTaken: ({ challengeId }) => Effect.succeed(RedemptionResult.InProgress({ challengeId })),
            PaymentRejected: ({ failure }) =>
              Effect.zipRight(
                Effect.zipRight(
                  Effect.annotateCurrentSpan("payment.failure", failure),
                  Effect.sync(() => countPayment("mpp", "refused"))
                ),
                Effect.map(challenge(request), (fresh) => RedemptionResult.Unpaid({ failure, challenge: fresh }))
              )
          })
        )
    )

    /** As `redeem`, after the end of concurrent requests; `InProgress` if one is still in progress after `atMost`. */
    const redeemWithin = Effect.fn("MachinePayments.redeemWithin")(
      (authorization: ReadonlyArray<string>, request: PaidRequest, atMost: Duration.DurationInput) =>
        awaitClaim(redeem(authorization, request), {
          subscribe: ({ challengeId }) => redemptions.subscribe(challengeId),
          atMost
        })
    )

    /** Counts a run of the plugin; false if the claim is lost. */
    const beginRun = Effect.fn("MachinePayments.beginRun")((claim: RedemptionClaim) => redemptions.beginRun(claim))

    /** Consumes the payment and stores its answer. On false, the claim is lost and the answer must not be sent. */
    const complete = Effect.fn("MachinePayments.complete")((claim: RedemptionClaim, answer: PaidAnswer) =>
      redemptions.complete(claim, answer)
    )

    /** Ends a claim without an answer; the credential stays redeemable for the same request. */
    const release = Effect.fn("MachinePayments.release")((claim: RedemptionClaim) => redemptions.release(claim))

    return { challenge, findMissingCredential, redeem, redeemWithin, whileClaimed, beginRun, complete, release }
  })
}) {}
