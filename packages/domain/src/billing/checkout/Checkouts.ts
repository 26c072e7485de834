import { Data, Duration, Effect } from "effect"
import { AccountPolicy } from "../../accounts/AccountPolicy.ts"
import { Administrators } from "../../accounts/Administrators.ts"
import type { User } from "../../shared/User.ts"
import { isBillingExempt } from "../BillingExemption.ts"
import { CardCustomers } from "./CardCustomers.ts"
import { CardProcessor, CardProcessorUnavailable, type CustomerId } from "./CardProcessor.ts"
import { findPurchaseCurrency, makePurchaseKey, type Purchase } from "./Purchase.ts"
import { findRequestReference, PurchaseAttempts } from "./PurchaseAttempts.ts"
import { decidePurchase, PlanCurrencyConflict } from "./PurchaseDecision.ts"

interface CheckoutReturnUrls {
  readonly successUrl: URL
  readonly cancelUrl: URL
}

const makeCheckoutReturnUrls = (appUrl: URL) => {
  const at = (path: string) => new URL(path, appUrl)
  const cancelUrl = at("/pricing?error=canceled")
  return {
    plan: { successUrl: at("/onboarding?checkout=done"), cancelUrl },
    credits: { successUrl: at("/dashboard?notice=credits_purchased"), cancelUrl },
    storage: {
      successUrl: at("/dashboard/files?checkout=done"),
      cancelUrl: at("/dashboard/files?error=canceled")
    }
  } satisfies Record<string, CheckoutReturnUrls>
}

/** The user has no card purchase to manage. */
export class PurchaseNotFound extends Data.TaggedError("PurchaseNotFound")<object> {
  override readonly message = "Nothing has been purchased by card yet."
}

const toUnavailable = () => new CardProcessorUnavailable({ reason: "the customer no longer exists" })

/** Repeated requests for a plan or storage within this time share a checkout. */
const repeatWindow = Duration.seconds(10)

/** Hosted checkouts, plan changes and the card processor's management page. */
export class Checkouts extends Effect.Service<Checkouts>()("@berth/Checkouts", {
  effect: Effect.gen(function* () {
    const processor = yield* CardProcessor
    const customers = yield* CardCustomers
    const attempts = yield* PurchaseAttempts
    const administrators = yield* Administrators
    const { appUrl } = yield* AccountPolicy
    const returnUrls = makeCheckoutReturnUrls(appUrl)

    const begin = (user: User, operation: string, window: Duration.Duration) =>
      Effect.flatMap(findRequestReference, (reference) =>
        attempts.begin({ userId: user.id, operation, reference, repeatWindow: window, charge: null })
      )

    /** Subscriptions of all customers of the user. */
    const listRunning = Effect.fnUntraced(function* (user: User) {
      const cardCustomers = yield* customers.listByUser(user.id)
      const running = yield* Effect.forEach(cardCustomers, ({ customerId }) =>
        Effect.map(processor.listSubscriptions(customerId), (subscriptions) =>
          subscriptions.map((subscription) => ({ ...subscription, customerId }))
        )
      )
      return running.flat()
    })

    /** Expires older checkouts of the item, so that the user can pay only one of two open pages. */
    const expireOlder = Effect.fnUntraced(function* (user: User, purchase: Purchase, attemptId: string) {
      const cardCustomers = yield* customers.listByUser(user.id)
      const expire = (exceptKey: string | null) =>
        Effect.forEach(
          cardCustomers,
          ({ customerId }) => processor.expireCheckouts({ customerId, kind: purchase.kind, exceptKey }),
          {
            discard: true
          }
        )
      yield* expire(attemptId)
      if (decidePurchase(purchase, yield* listRunning(user))._tag === "Buy") return
      yield* expire(null)
      return yield* new CardProcessorUnavailable({ reason: "an earlier checkout was completed meanwhile" })
    })

    const createFor = Effect.fnUntraced(function* (customerId: CustomerId, user: User, purchase: Purchase) {
      const window = purchase.kind === "credits" ? Duration.zero : repeatWindow
      // The operation includes the customer, so that an idempotency key never refers to two customers.
      const { id } = yield* begin(user, `checkout:${customerId}:${makePurchaseKey(purchase)}`, window)
      return yield* processor
        .createCheckout({
          purchase,
          userId: user.id,
          customerId,
          ...returnUrls[purchase.kind],
          idempotencyKey: id
        })
        .pipe(
          Effect.tapErrorTag("CardCustomerMissing", () => attempts.settle(id, "refused")),
          Effect.tap(() => (purchase.kind === "credits" ? Effect.void : expireOlder(user, purchase, id)))
        )
    })

    /** Creates a checkout; replaces a customer that is absent at the processor, once. */
    const create = Effect.fn("Checkouts.create")(function* (user: User, purchase: Purchase) {
      const currency = findPurchaseCurrency(purchase)
      const customerId = yield* customers.ensure(user, currency)
      return yield* createFor(customerId, user, purchase).pipe(
        Effect.catchTag("CardCustomerMissing", () =>
          Effect.flatMap(customers.replace(user, currency, customerId), (replaced) =>
            createFor(replaced, user, purchase)
          )
        ),
        Effect.catchTag("CardCustomerMissing", toUnavailable)
      )
    })

    const manage = (customerId: CustomerId, purchase: Purchase) =>
      Effect.catchTag(
        processor.createPortalUrl(customerId, returnUrls[purchase.kind].cancelUrl),
        "CardCustomerMissing",
        toUnavailable
      )

    /**
     * Returns the page for the buyer: a checkout, the management page, or the return page after a plan change. Only
     * `mayChange` changes a plan, since another site can open a link with the user's cookie.
     */
    const start = Effect.fn("Checkouts.start")(function* (
      user: User,
      purchase: Purchase,
      { mayChange }: { readonly mayChange: boolean }
    ) {
      if (purchase.kind === "plan" && isBillingExempt(administrators, user)) return new URL("/onboarding", appUrl)
      const running = purchase.kind === "credits" ? [] : yield* listRunning(user)
      const decision = decidePurchase(purchase, running)
      switch (decision._tag) {
        case "Buy":
          return yield* create(user, purchase)
        case "EndOtherFirst":
          return yield* new PlanCurrencyConflict({ plan: decision.plan })
        case "Manage":
          return yield* manage(decision.customerId, purchase)
        case "Change": {
          if (!mayChange) return yield* manage(decision.customerId, purchase)
          const { id, isUpgrade, plan } = decision
          const attempt = yield* begin(user, `change:${id}:${plan}`, repeatWindow)
          const change = { id, plan, idempotencyKey: attempt.id }
          yield* isUpgrade ? processor.updateSubscription(change) : processor.scheduleSubscriptionChange(change)
          yield* Effect.logInfo(isUpgrade ? "Plan changed" : "Plan change scheduled").pipe(
            Effect.annotateLogs({ userId: user.id, plan })
          )
          return isUpgrade ? returnUrls.plan.successUrl : new URL("/dashboard", appUrl)
        }
      }
    })

    /** Creates the processor's page with the user's cards, invoices and subscriptions. */
    const createPortalUrl = Effect.fn("Checkouts.createPortalUrl")(function* (user: User) {
      const [first] = yield* customers.listByUser(user.id)
      if (first === undefined) return yield* new PurchaseNotFound()
      const [running] = yield* listRunning(user)
      return yield* Effect.catchTag(
        processor.createPortalUrl(running?.customerId ?? first.customerId, new URL("/dashboard", appUrl)),
        "CardCustomerMissing",
        () => new PurchaseNotFound()
      )
    })

    return { create, start, createPortalUrl }
  })
}) {}
