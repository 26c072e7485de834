import { type Data, DateTime, Duration, Effect, Option } from "effect"
import { Transaction } from "../../persistence/Transaction.ts"
import type { User } from "../../shared/User.ts"
import { CreditPurchases } from "../credits/CreditPurchases.ts"
import { countPayment } from "../PaymentMetrics.ts"
import { CardCustomers } from "./CardCustomers.ts"
import {
  CardProcessor,
  CardProcessorUnavailable,
  ChargeOutcome,
  type CustomerId,
  type FoundCharge
} from "./CardProcessor.ts"
import { makePurchaseKey, type PricedCredits } from "./Purchase.ts"
import {
  findRequestReference,
  type PurchaseAttempt,
  type PurchaseAttemptId,
  PurchaseAttempts,
  type SavedCharge
} from "./PurchaseAttempts.ts"

const chargeTimeout = Duration.minutes(2)
/** A charge that the processor does not have after this time counts as refused. */
const lookupLimit = Duration.minutes(15)
const lookupBatch = 100
const attemptRetention = Duration.days(30)

/** Credits paid with a saved card: charged once per attempt, and booked with the outcome. */
export class SavedCardCharges extends Effect.Service<SavedCardCharges>()("@berth/SavedCardCharges", {
  effect: Effect.gen(function* () {
    const processor = yield* CardProcessor
    const customers = yield* CardCustomers
    const attempts = yield* PurchaseAttempts
    const credits = yield* CreditPurchases
    const transaction = yield* Transaction

    /** Idempotent by payment id: booked by this request, its repetition or the reconciliation. */
    const book = (
      id: PurchaseAttemptId,
      userId: User["id"],
      { purchase }: SavedCharge,
      { paymentId }: Data.TaggedEnum.Value<ChargeOutcome, "Paid">
    ) =>
      transaction.run(
        Effect.gen(function* () {
          const outcome = yield* credits.book({
            userId,
            credits: purchase.credits,
            cause: paymentId,
            ...purchase.price,
            kind: "purchase"
          })
          if (outcome === "unknown-user")
            yield* Effect.logError("Credits paid by a deleted account").pipe(Effect.annotateLogs({ userId, paymentId }))
          yield* attempts.settle(id, "paid")
        })
      )

    const findPayer = Effect.fnUntraced(function* (user: User) {
      for (const { customerId } of yield* customers.listByUser(user.id))
        if (yield* processor.hasSavedCard(customerId)) return Option.some(customerId)
      return Option.none<CustomerId>()
    })

    /**
     * A repeated attempt is looked up before it is charged, since the processor keeps idempotency keys for a day only.
     */
    const chargeOnce = Effect.fnUntraced(function* (user: User, { id, isNew }: PurchaseAttempt, charge: SavedCharge) {
      const found = isNew
        ? Option.none<FoundCharge>()
        : yield* processor.findCharge({ customerId: charge.customerId, idempotencyKey: id })
      if (Option.isSome(found)) return found.value
      return yield* processor.chargeSavedCard({ ...charge, userId: user.id, idempotencyKey: id })
    })

    /** False without a chargeable card. Succeeds after the credits are booked. */
    const charge = Effect.fn("SavedCardCharges.charge")(function* (user: User, purchase: PricedCredits) {
      const payer = yield* findPayer(user)
      if (Option.isNone(payer)) return false
      const requested: SavedCharge = { customerId: payer.value, purchase }
      const attempt = yield* attempts.begin({
        userId: user.id,
        operation: `saved:${makePurchaseKey(purchase)}`,
        reference: yield* findRequestReference,
        repeatWindow: Duration.zero,
        charge: requested
      })
      if (attempt.state === "paid") return true
      const stored = attempt.charge ?? requested
      const outcome = yield* Effect.tapErrorTag(chargeOnce(user, attempt, stored), "PurchaseDeclined", () => {
        countPayment("card", "refused")
        return attempts.settle(attempt.id, "refused")
      })
      return yield* ChargeOutcome.$match(outcome, {
        Paid: (paid) => Effect.as(book(attempt.id, user.id, stored, paid), true),
        NeedsCheckout: () => Effect.as(attempts.settle(attempt.id, "refused"), false),
        UnderWay: () => Effect.fail(new CardProcessorUnavailable({ reason: "the charge is still processing" }))
      })
    })

    /** Returns whether the attempt is settled. */
    const reconcile = (
      {
        id,
        triedAt,
        userId,
        ...requested
      }: SavedCharge & {
        readonly id: PurchaseAttemptId
        readonly userId: User["id"]
        readonly triedAt: DateTime.Utc
      },
      now: DateTime.Utc
    ) =>
      Effect.gen(function* () {
        const charge = yield* processor.findCharge({ customerId: requested.customerId, idempotencyKey: id })
        if (Option.isSome(charge)) {
          if (charge.value._tag === "UnderWay") return yield* Effect.as(attempts.touch(id), false)
          yield* book(id, userId, requested, charge.value)
          return true
        }
        if (Duration.lessThan(DateTime.distanceDuration(triedAt, now), lookupLimit)) return false
        yield* attempts.settle(id, "refused")
        return true
      }).pipe(
        Effect.catchAll((error) =>
          Effect.as(
            Effect.logWarning("Charge lookup failed", error).pipe(Effect.annotateLogs({ purchaseAttempt: id })),
            false
          )
        )
      )

    /**
     * Looks up charges with an unknown outcome and books the paid ones; charges nothing. Returns the number of settled
     * charges.
     */
    const reconcileOpenCharges = Effect.gen(function* () {
      const now = yield* DateTime.now
      const open = yield* attempts.listOpenBefore(DateTime.subtractDuration(now, chargeTimeout), lookupBatch)
      const settled = yield* Effect.filter(open, (attempt) => reconcile(attempt, now))
      return settled.length
    }).pipe(Effect.withSpan("SavedCardCharges.reconcileOpenCharges"))

    return { charge, reconcileOpenCharges, prune: attempts.prune(attemptRetention) }
  })
}) {}
