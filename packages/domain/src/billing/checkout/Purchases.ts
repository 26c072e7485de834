import { Data, DateTime, Duration, Effect, Option } from "effect"
import { Administrators } from "../../accounts/Administrators.ts"
import type { User } from "../../shared/User.ts"
import { RequestClaim } from "../../limits/IdempotentExecution.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { CardCustomers } from "./CardCustomers.ts"
import {
  CardProcessor,
  CardProcessorUnavailable,
  type ChargeOutcome,
  type CustomerId,
  type FoundCharge,
  type PurchaseDeclined
} from "./CardProcessor.ts"
import { CreditPurchases } from "../credits/CreditPurchases.ts"
import { decidePurchase, PlanCurrencyConflict } from "./PurchaseDecision.ts"
import { type CreditPack, findPurchaseCurrency, makePurchaseKey, type Purchase, makePackPurchase } from "./Purchase.ts"
import { type PurchaseAttempt, type PurchaseAttemptId, PurchaseAttempts, type SavedCharge } from "./PurchaseAttempts.ts"

/** Where the card processor leads a buyer back to. */
export interface CheckoutReturnUrls {
  readonly successUrl: URL
  readonly cancelUrl: URL
}

/** There is no saved card that can be charged; the checkout takes another one. */
export class PaymentCardRequired extends Data.TaggedError("PaymentCardRequired")<{
  /** Why, where a card was tried. */
  readonly refusal: Option.Option<PurchaseDeclined>
  readonly checkoutUrl: URL
}> {}

/** Nobody buys anything that could be managed at the card processor. */
export class PurchaseNotFound extends Data.TaggedError("PurchaseNotFound")<object> {
  override get message() {
    return "You have bought nothing by card yet."
  }
}

const customerIsGone = () => new CardProcessorUnavailable({ reason: "the customer is gone" })

/** Two clicks within so long lead to one checkout of a plan or of storage. */
const doubleClick = Duration.seconds(10)
/** Nobody is at a charge any more after so long: whether it came about is asked for then. */
const chargeTakes = Duration.minutes(2)
/** A charge that did not come about by then does not. */
const givenUpAfter = Duration.minutes(15)
const lookedUpAtOnce = 100

/** What users buy by card: hosted checkouts, changes of what runs, and credits by a card that was saved. */
export class Purchases extends Effect.Service<Purchases>()("@berth/Purchases", {
  effect: Effect.gen(function* () {
    const processor = yield* CardProcessor
    const customers = yield* CardCustomers
    const attempts = yield* PurchaseAttempts
    const credits = yield* CreditPurchases
    const admins = yield* Administrators
    const transaction = yield* Transaction

    /** Requests without a key that come within `window` are one attempt; purchases of credits have none. */
    const begin = (
      user: User,
      what: string,
      window: Duration.Duration,
      charge: Option.Option<SavedCharge> = Option.none()
    ) =>
      Effect.gen(function* () {
        const claim = yield* RequestClaim
        // The key's own words: the claim changes hands when a process dies, and the purchase stays the same.
        const reference = Option.map(claim, ({ key }) => `${key.route} ${key.key}`)
        return yield* attempts.begin({ userId: user.id, what, charge, reference, doubleClick: window })
      })

    const sellTo = (customerId: CustomerId, user: User, purchase: Purchase, way: CheckoutReturnUrls) =>
      Effect.gen(function* () {
        const window = purchase.kind === "credits" ? Duration.zero : doubleClick
        // The customer is part of the attempt: one key never names two customers at the processor.
        const { id } = yield* begin(user, `checkout:${customerId}:${makePurchaseKey(purchase)}`, window)
        return yield* processor
          .createCheckout({ purchase, userId: user.id, customerId, ...way, idempotencyKey: id })
          .pipe(Effect.tapErrorTag("CardCustomerMissing", () => attempts.settle(id, "refused")))
      })

    /** A checkout for the customer, or for a new one where that is gone. */
    const sell = (user: User, customerId: CustomerId, purchase: Purchase, way: CheckoutReturnUrls) =>
      sellTo(customerId, user, purchase, way).pipe(
        Effect.catchTag("CardCustomerMissing", () =>
          Effect.flatMap(customers.replace(user, findPurchaseCurrency(purchase), customerId), (replaced) =>
            sellTo(replaced, user, purchase, way)
          )
        ),
        Effect.catchTag("CardCustomerMissing", customerIsGone)
      )

    /** What runs for the user, whatever currency it is paid in. */
    const runningOf = (user: User) =>
      Effect.gen(function* () {
        const known = yield* customers.listByUser(user.id)
        const running = yield* Effect.forEach(known, ({ customerId }) =>
          Effect.map(processor.listSubscriptions(customerId), (found) => found.map((one) => ({ ...one, customerId })))
        )
        return running.flat()
      })

    const manage = (customerId: CustomerId, { cancelUrl }: CheckoutReturnUrls) =>
      Effect.catchTag(processor.createPortalUrl(customerId, cancelUrl), "CardCustomerMissing", customerIsGone)

    /**
     * An address to send the buyer to: a checkout, or the page on which he manages what he has already. A plan in place of
     * another one is changed at once where the buyer said so himself (`changes`), and there is nothing left to pay; a link
     * alone, which anybody could have made, leads to the page.
     */
    const checkout = Effect.fn("Purchases.checkout")(function* (
      user: User,
      purchase: Purchase,
      way: CheckoutReturnUrls,
      { changes }: { readonly changes: boolean }
    ) {
      if (purchase.kind === "plan" && admins.includes(user)) return way.successUrl
      const customerId = yield* customers.ensure(user, findPurchaseCurrency(purchase))
      const running = purchase.kind === "credits" ? [] : yield* runningOf(user)
      const decision = decidePurchase(purchase, running)
      switch (decision._tag) {
        case "Buy":
          return yield* sell(user, customerId, purchase, way)
        case "EndOtherFirst":
          return yield* new PlanCurrencyConflict({ plan: decision.plan })
        case "Manage":
          return yield* manage(decision.customerId, way)
        case "Change": {
          if (!changes) return yield* manage(decision.customerId, way)
          const { id, plan } = decision
          const attempt = yield* begin(user, `change:${id}:${plan}`, doubleClick)
          yield* processor.updateSubscription({ id, plan, idempotencyKey: attempt.id })
          yield* Effect.logInfo("A plan was changed").pipe(Effect.annotateLogs({ userId: user.id, plan }))
          return way.successUrl
        }
      }
    })

    /** Once a cause: whoever books first, this request, its repetition or the look-up after a crash. */
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
            yield* Effect.logError("Credits were paid for by an account that is gone").pipe(
              Effect.annotateLogs({ userId, paymentId })
            )
          yield* attempts.settle(id, "paid")
        })
      )

    const withSavedCard = (user: User) =>
      Effect.gen(function* () {
        for (const { customerId } of yield* customers.listByUser(user.id))
          if (yield* processor.hasSavedCard(customerId)) return Option.some(customerId)
        return Option.none<CustomerId>()
      })

    /** The processor forgets keys after a day, so an attempt that was taken up is looked up before it is charged. */
    const chargeOnce = (user: User, { id, isNew }: PurchaseAttempt, charge: SavedCharge) =>
      Effect.gen(function* () {
        const found = isNew
          ? Option.none<FoundCharge>()
          : yield* processor.findCharge({ customerId: charge.customerId, idempotencyKey: id })
        if (Option.isSome(found)) return found.value
        return yield* processor.chargeSavedCard({ ...charge, userId: user.id, idempotencyKey: id })
      })

    /** Fails with a checkout where no saved card can be charged. Done once the credits are the user's. */
    const buyCredits = Effect.fn("Purchases.buyCredits")(function* (
      user: User,
      pack: CreditPack,
      way: CheckoutReturnUrls
    ) {
      const purchase = makePackPurchase(pack)
      const needsCard = (refusal: Option.Option<PurchaseDeclined>) =>
        Effect.gen(function* () {
          const customerId = yield* customers.ensure(user, findPurchaseCurrency(purchase))
          return yield* new PaymentCardRequired({ refusal, checkoutUrl: yield* sell(user, customerId, purchase, way) })
        })
      const payer = yield* withSavedCard(user)
      if (Option.isNone(payer)) return yield* needsCard(Option.none())
      const asked: SavedCharge = { customerId: payer.value, purchase }
      const attempt = yield* begin(user, `saved:${makePurchaseKey(purchase)}`, Duration.zero, Option.some(asked))
      if (attempt.state === "paid") return
      const charge = Option.getOrElse(attempt.charge, () => asked)
      const charged = yield* Effect.either(chargeOnce(user, attempt, charge))
      if (charged._tag === "Left") {
        if (charged.left._tag !== "PurchaseDeclined") return yield* charged.left
        yield* attempts.settle(attempt.id, "refused")
        return yield* needsCard(Option.some(charged.left))
      }
      if (charged.right._tag === "NeedsCheckout") {
        yield* attempts.settle(attempt.id, "refused")
        return yield* needsCard(Option.none())
      }
      if (charged.right._tag === "UnderWay")
        return yield* new CardProcessorUnavailable({ reason: "the charge is still under way" })
      yield* book(attempt.id, user.id, charge, charged.right)
    })

    /** The page on which the user sees what he pays, changes his card and ends what runs. */
    const createPortalUrl = Effect.fn("Purchases.createPortalUrl")(function* (user: User, returnUrl: URL) {
      const [first] = yield* customers.listByUser(user.id)
      if (first === undefined) return yield* new PurchaseNotFound()
      const [running] = yield* runningOf(user)
      return yield* Effect.catchTag(
        processor.createPortalUrl(running?.customerId ?? first.customerId, returnUrl),
        "CardCustomerMissing",
        () => new PurchaseNotFound()
      )
    })

    /**
     * Looks up charges that nobody heard the end of: a process died behind them, or the card processor was silent. What was paid
     * is booked; nothing is charged here. Answers how many were settled.
     */
    const reconcileOpenCharges = Effect.gen(function* () {
      const now = yield* DateTime.now
      const open = yield* attempts.listOpenBefore(DateTime.subtractDuration(now, chargeTakes), lookedUpAtOnce)
      const settled = yield* Effect.forEach(open, ({ id, triedAt, userId, ...charge }) =>
        Effect.gen(function* () {
          const found = yield* processor.findCharge({ customerId: charge.customerId, idempotencyKey: id })
          if (Option.isSome(found)) {
            if (found.value._tag === "UnderWay") return yield* Effect.as(attempts.touch(id), 0)
            yield* book(id, userId, charge, found.value)
            return 1
          }
          if (Duration.lessThan(DateTime.distanceDuration(triedAt, now), givenUpAfter)) return 0
          yield* attempts.settle(id, "refused")
          return 1
        }).pipe(
          Effect.catchAll((trouble) =>
            Effect.logWarning("What became of a charge cannot be seen yet", trouble).pipe(
              Effect.annotateLogs({ attempt: id }),
              Effect.as(0)
            )
          )
        )
      )
      return settled.reduce((sum, one) => sum + one, 0)
    }).pipe(Effect.withSpan("Purchases.reconcileOpenCharges"))

    return { checkout, buyCredits, createPortalUrl, reconcileOpenCharges, prune: attempts.prune }
  })
}) {}
