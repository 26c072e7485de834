import { Clock, Data, DateTime, Duration, Effect, type Either, Option, Redacted, Schedule } from "effect"
import type { ChainUnreachable } from "../../chain/ChainErrors.ts"
import { Digests } from "../../secrets/Digests.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import { type Challenge, makeChallenge, challengeLifetime, parseChallengeId } from "./Challenge.ts"
import { verifyMinedTransaction, verifySignedTransaction } from "./PaymentVerification.ts"
import type { PaidRequest } from "./PaidRequest.ts"
import { type ChainTransaction, PaymentChain } from "./PaymentChain.ts"
import { matchesChallengeEcho, parsePaymentCredential, type PaymentProof } from "./PaymentCredential.ts"
import { makePaymentDigests } from "./PaymentDigests.ts"
import type { PaymentFailure } from "./PaymentFailure.ts"
import { type PaymentReceipt, makePaymentReceipt } from "./PaymentReceipt.ts"
import { PaymentRedemptions, type RedemptionClaim, redemptionLease, RedemptionOutcome } from "./PaymentRedemptions.ts"
import { PaymentSettings } from "./PaymentSettings.ts"

export type RedemptionResult = Data.TaggedEnum<{
  /** Paid for, and the caller's alone to answer while it keeps `claim`. */
  readonly Paid: { readonly claim: RedemptionClaim; readonly receipt: PaymentReceipt }
  /** Another request with the same credential is being answered; this one must not be paid for again. */
  readonly InProgress: object
  /** Not paid, and how it can be. */
  readonly Unpaid: { readonly failure: PaymentFailure; readonly challenge: Challenge }
}>
export const RedemptionResult = Data.taggedEnum<RedemptionResult>()

/** Within the domain: a payment that is refused. */
class PaymentRejected extends Data.TaggedError("PaymentRejected")<{ readonly failure: PaymentFailure }> {}
/** Within the domain: somebody else has the claim. */
class PaymentClaimTaken extends Data.TaggedError("PaymentClaimTaken")<object> {}

const seedLength = 16
const renewal = Duration.seconds(Duration.toSeconds(redemptionLease) / 3)

/** How often and how long a transaction that we have sent is looked for before it counts as unconfirmed. */
const looking = Duration.millis(250)
const looks = 80
/** The same for one that a payer says he has sent: his node may be ahead of ours. */
const looksForHash = 8

const refuse = (failure: PaymentFailure) => new PaymentRejected({ failure })
const judged = <A>(verdict: Either.Either<A, PaymentFailure>) => Effect.mapError(verdict, refuse)

/**
 * Calls that machines pay for: a challenge, a payment that meets it, an answer. A challenge and a transaction buy one call, the
 * one that the challenge was issued for, whatever is repeated, changed, copied or cut off in between.
 */
export class MachinePayments extends Effect.Service<MachinePayments>()("@berth/MachinePayments", {
  effect: Effect.gen(function* () {
    const chain = yield* PaymentChain
    const redemptions = yield* PaymentRedemptions
    const settings = yield* PaymentSettings
    const hashes = yield* Digests
    const digests = makePaymentDigests(hashes, settings.secret)
    const tokens = yield* Tokens

    const nowInSeconds = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / 1000))

    /** What has to be paid for this request. Nothing is stored. */
    const challenge = Effect.fn("MachinePayments.challenge")(function* (request: PaidRequest) {
      const seed = Redacted.value(yield* tokens.make).slice(0, seedLength)
      const expires = (yield* nowInSeconds) + Duration.toSeconds(challengeLifetime)
      return makeChallenge(digests, settings, request, { expires, seed })
    })

    /** The challenge that a credential meets, if it was issued here for this very request. */
    const met = (id: string, request: PaidRequest) =>
      Option.filter(
        Option.map(parseChallengeId(id), (seed) => makeChallenge(digests, settings, request, seed)),
        (ours) => hashes.equal(Redacted.make(ours.id), Redacted.make(id))
      )

    /** Somebody keeps the claim while this runs; it takes longer than a lease when a chain or a model is slow. */
    const whileClaimed = <A, E, R>(claim: RedemptionClaim, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.raceFirst(
        work,
        // A request runs uninterruptibly around its handler, and what only keeps it company must end with it.
        Effect.interruptible(
          redemptions.renew(claim).pipe(
            Effect.catchAllCause((cause) => Effect.logWarning("The claim of a payment was not renewed", cause)),
            Effect.delay(renewal),
            Effect.repeat(Schedule.forever),
            Effect.zipRight(Effect.never)
          )
        )
      )

    /** Looks until the transaction is final, or patience ends. */
    const confirmed = (hash: string, times: number): Effect.Effect<ChainTransaction, ChainUnreachable> =>
      Effect.flatMap(chain.find(hash), (transaction) =>
        transaction._tag === "Mined" || times === 0
          ? Effect.succeed(transaction)
          : Effect.delay(confirmed(hash, times - 1), looking)
      )

    const paid = (claim: RedemptionClaim, transactionHash: string, settledAt: DateTime.Utc) =>
      RedemptionResult.Paid({
        claim,
        receipt: makePaymentReceipt({ method: "tempo", settledAt, transactionHash })
      })

    const settled = (claim: RedemptionClaim, transactionHash: string) =>
      Effect.flatMap(
        redemptions.settle(claim),
        Option.match({
          onNone: () => new PaymentClaimTaken(),
          onSome: (settledAt) => Effect.succeed(paid(claim, transactionHash, settledAt))
        })
      )

    /** Claims the payment, and goes on with `settle` unless it was settled before. Whatever ends without being paid lets go. */
    const claimed = <E>(
      target: Challenge,
      request: PaidRequest,
      transactionHash: string,
      settle: (claim: RedemptionClaim) => Effect.Effect<RedemptionResult, E>
    ) =>
      redemptions
        .claim({
          challengeId: target.id,
          transactionHash,
          plugin: request.plugin,
          chainId: settings.chainId,
          currency: settings.currency,
          recipient: settings.recipient,
          amount: target.amount
        })
        .pipe(
          Effect.flatMap(
            RedemptionOutcome.$match({
              InProgress: (): Effect.Effect<RedemptionResult, E | PaymentRejected | PaymentClaimTaken> =>
                new PaymentClaimTaken(),
              ChallengeUsed: () => refuse("challenge is used"),
              TransactionUsed: () => refuse("transaction is used"),
              Claimed: ({ claim, settledAt }) =>
                Option.match(settledAt, {
                  onSome: (since) => Effect.succeed(paid(claim, transactionHash, since)),
                  onNone: () => Effect.onError(whileClaimed(claim, settle(claim)), () => redemptions.release(claim))
                })
            })
          )
        )

    /** Pays by a transaction that was sent by its payer: it must say by its memo that it was for this challenge. */
    const byHash = (target: Challenge, request: PaidRequest, hash: string, isHeld: boolean) =>
      Effect.gen(function* () {
        const verified = Effect.gen(function* () {
          const binding = yield* judged(verifyMinedTransaction(digests, target, yield* confirmed(hash, looksForHash)))
          if (binding !== "this challenge") return yield* refuse("memo is missing")
        })
        // Before it is claimed, so that nobody keeps another's transaction busy by naming it.
        if (!isHeld) yield* verified
        return yield* claimed(target, request, hash, (claim) =>
          Effect.zipRight(isHeld ? verified : Effect.void, settled(claim, hash))
        )
      })

    /** Sends a transaction unless it is there, and waits for it. */
    const executed = (raw: string, hash: string) =>
      Effect.gen(function* () {
        const before = yield* chain.find(hash)
        if (before._tag === "Mined") return before
        const verdict = yield* chain.broadcast(raw)
        const after = yield* confirmed(hash, verdict === "taken" ? looks : looksForHash)
        if (after._tag !== "Mined" && verdict === "refused") return yield* refuse("transaction is refused")
        return after
      })

    /**
     * Pays by a transaction that we send. It is judged by its bytes and never sent for anything but this challenge; it is claimed
     * before it is sent, so that whoever repeats the request after a crash finds it as his, on the chain or not yet.
     */
    const byTransaction = (target: Challenge, request: PaidRequest, raw: string, held: Option.Option<string>) =>
      Effect.gen(function* () {
        const signed = yield* Effect.mapError(chain.decode(raw), () => refuse("unreadable transaction"))
        const isHeld = Option.contains(held, signed.hash)
        if (!isHeld) {
          const expected = { chainId: settings.chainId, now: yield* nowInSeconds }
          const binding = yield* judged(verifySignedTransaction(digests, target, expected, signed))
          // Anybody can copy what the chain already has; what only its signer has is nowhere yet, unless another request with
          // this credential has claimed it and sent it in the meantime.
          if (binding === "none" && (yield* chain.find(signed.hash))._tag !== "Unknown") {
            const isHeldNow = Option.contains(yield* redemptions.findTransaction(target.id), signed.hash)
            if (!isHeldNow) return yield* refuse("memo is missing")
          }
        }
        return yield* claimed(target, request, signed.hash, (claim) =>
          Effect.gen(function* () {
            yield* judged(verifyMinedTransaction(digests, target, yield* executed(signed.raw, signed.hash)))
            return yield* settled(claim, signed.hash)
          })
        )
      })

    const byProof = (target: Challenge, request: PaidRequest, proof: PaymentProof) =>
      Effect.gen(function* () {
        const held = yield* redemptions.findTransaction(target.id)
        // A payment that was begun in time can be repeated after it: until it is answered, it is owed.
        if (Option.isNone(held) && DateTime.lessThanOrEqualTo(target.expiresAt, yield* DateTime.now))
          return yield* refuse("expired")
        return yield* proof._tag === "Hash"
          ? byHash(target, request, proof.hash, Option.contains(held, proof.hash))
          : byTransaction(target, request, proof.raw, held)
      })

    /**
     * Redeems the credential in the values of `Authorization` for a request. Fails when the chain cannot be reached: nothing
     * is known then, and the same credential can be sent again.
     */
    const redeem = Effect.fn("MachinePayments.redeem")(
      function* (authorization: ReadonlyArray<string>, request: PaidRequest) {
        const credential = yield* judged(parsePaymentCredential(authorization))
        const target = yield* Effect.mapError(met(credential.challengeId, request), () => refuse("not our challenge"))
        if (!matchesChallengeEcho(target, credential.echo)) return yield* refuse("not our challenge")
        yield* Effect.annotateCurrentSpan("payment.challenge", target.id)
        return yield* byProof(target, request, credential.proof)
      },
      (effect, _authorization, request) =>
        effect.pipe(
          Effect.catchTags({
            PaymentClaimTaken: () => Effect.succeed(RedemptionResult.InProgress()),
            PaymentRejected: ({ failure }) =>
              Effect.zipRight(
                Effect.annotateCurrentSpan("payment.failure", failure),
                Effect.map(challenge(request), (fresh) => RedemptionResult.Unpaid({ failure, challenge: fresh }))
              )
          })
        )
    )

    /** The call has its answer, which may go out when this is true: else another request has the claim and gives its own. */
    const complete = Effect.fn("MachinePayments.complete")((claim: RedemptionClaim) => redemptions.complete(claim))

    /** The call that was paid for has failed: the same credential can be sent again with the same request. */
    const release = Effect.fn("MachinePayments.release")((claim: RedemptionClaim) => redemptions.release(claim))

    return { challenge, redeem, whileClaimed, complete, release }
  })
}) {}
