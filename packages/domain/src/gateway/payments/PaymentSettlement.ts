import { Clock, Data, Duration, Effect, type Either, Option } from "effect"
import type { ChainUnreachable } from "../../chain/Chain.ts"
import { Digests } from "../../secrets/Digests.ts"
import type { Challenge } from "./Challenge.ts"
import { MachinePaymentSettings } from "./MachinePaymentSettings.ts"
import { type ChainTransaction, PaymentChain } from "./PaymentChain.ts"
import type { PaymentProof } from "./PaymentCredential.ts"
import { makePaymentDigests } from "./PaymentDigests.ts"
import type { PaymentFailure } from "./PaymentFailure.ts"
import { PaymentRedemptions } from "./PaymentRedemptions.ts"
import { verifyMinedTransaction, verifySignedTransaction } from "./PaymentVerification.ts"

/** Internal to machine payments. */
export class PaymentRejected extends Data.TaggedError("PaymentRejected")<{ readonly failure: PaymentFailure }> {}

const pollInterval = Duration.millis(250)
/** Polls for a transaction broadcast by this service before it counts as unconfirmed. */
const broadcastPolls = 80
/** Polls for a transaction of the payer, whose node may be ahead of this service's node. */
const hashPolls = 8

export const rejectPayment = (failure: PaymentFailure) => new PaymentRejected({ failure })
export const orReject = <A>(verdict: Either.Either<A, PaymentFailure>) => Effect.mapError(verdict, rejectPayment)

/** A verified proof to claim. */
export interface PreparedPayment {
  readonly transactionHash: string
  /** Makes the payment final. Runs under the claim. */
  readonly settle: Effect.Effect<void, PaymentRejected | ChainUnreachable>
}

/** Verifies proofs of payment on the chain, and broadcasts signed transactions. */
export class PaymentSettlement extends Effect.Service<PaymentSettlement>()("@berth/PaymentSettlement", {
  effect: Effect.gen(function* () {
    const chain = yield* PaymentChain
    const redemptions = yield* PaymentRedemptions
    const payments = yield* MachinePaymentSettings
    const digests = makePaymentDigests(yield* Digests, payments.secret)

    const awaitConfirmation = (hash: string, polls: number): Effect.Effect<ChainTransaction, ChainUnreachable> =>
      Effect.flatMap(chain.find(hash), (transaction) =>
        transaction._tag === "Mined" || polls === 0
          ? Effect.succeed(transaction)
          : Effect.delay(awaitConfirmation(hash, polls - 1), pollInterval)
      )

    /** A transaction sent by the payer must contain the memo of this challenge. */
    const prepareHash = (challenge: Challenge, hash: string, claimed: Option.Option<string>) => {
      const verify = Effect.gen(function* () {
        const mined = yield* awaitConfirmation(hash, hashPolls)
        const binding = yield* orReject(verifyMinedTransaction(digests, challenge, mined))
        if (binding !== "this challenge") return yield* rejectPayment("memo is missing")
      })
      // Verified before the claim, so that a caller cannot block another payer's transaction by its hash.
      return Option.contains(claimed, hash)
        ? Effect.succeed({ transactionHash: hash, settle: verify })
        : Effect.as(verify, { transactionHash: hash, settle: Effect.void })
    }

    const broadcastOnce = Effect.fnUntraced(function* (raw: string, hash: string) {
      const before = yield* chain.find(hash)
      if (before._tag === "Mined") return before
      const verdict = yield* chain.broadcast(raw)
      const after = yield* awaitConfirmation(hash, verdict === "taken" ? broadcastPolls : hashPolls)
      if (after._tag !== "Mined" && verdict === "refused") return yield* rejectPayment("transaction is refused")
      return after
    })

    /**
     * Verified by its bytes before the claim, and claimed before the broadcast, so that a repetition after a crash
     * finds the claim.
     */
    const prepareTransaction = Effect.fnUntraced(function* (
      challenge: Challenge,
      raw: string,
      claimed: Option.Option<string>
    ) {
      const signed = yield* Effect.mapError(chain.decode(raw), () => rejectPayment("unreadable transaction"))
      if (!Option.contains(claimed, signed.hash)) {
        const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        const expected = { chainId: payments.chainId, now }
        const binding = yield* orReject(verifySignedTransaction(digests, challenge, expected, signed))
        // Bytes on the chain are public. Without a memo, only unpublished bytes authenticate the payer, or a claim of
        // this challenge by a concurrent request.
        if (binding === "none" && (yield* chain.find(signed.hash))._tag !== "Unknown") {
          const claimed = yield* redemptions.findTransaction(challenge.id)
          if (!Option.contains(claimed, signed.hash)) return yield* rejectPayment("memo is missing")
        }
      }
      return {
        transactionHash: signed.hash,
        settle: Effect.flatMap(broadcastOnce(signed.raw, signed.hash), (mined) =>
          Effect.asVoid(orReject(verifyMinedTransaction(digests, challenge, mined)))
        )
      }
    })

    /** Runs every check that is possible before the claim. `held`: the transaction to which the challenge is bound. */
    const prepare = Effect.fn("PaymentSettlement.prepare")(
      (
        challenge: Challenge,
        proof: PaymentProof,
        claimed: Option.Option<string>
      ): Effect.Effect<PreparedPayment, PaymentRejected | ChainUnreachable> =>
        proof._tag === "Hash"
          ? prepareHash(challenge, proof.hash, claimed)
          : prepareTransaction(challenge, proof.raw, claimed)
    )

    return { prepare }
  })
}) {}
