import {
  CardCustomerMissing,
  CardProcessor,
  CardProcessorNotConfigured,
  CardProcessorUnavailable,
  CardSubscriptionId,
  ChargeOutcome,
  CustomerId,
  type FoundCharge
} from "@berth/domain/billing/checkout/CardProcessor"
import {
  BillingPlanId,
  CheckoutPlanId,
  findPlanPrice,
  type Purchase,
  type SoldPlanId
} from "@berth/domain/billing/checkout/Purchase"
import { Array, type Context, Effect, Layer, Option, Schema } from "effect"
import type Stripe from "stripe"
import {
  isIdempotencyConflict,
  isCustomerMissing,
  isStripeObjectMissing,
  isStripeRequestInvalid,
  makeStripeClient,
  toPurchaseFailure,
  type StripeAccess,
  type StripeCallFailed,
  toCardProcessorUnavailable
} from "./StripeClient.ts"
import { makeLineItem, productNames, type StripePriceIds } from "./StripePrices.ts"

export interface StripeCardProcessorOptions extends StripeAccess {
  readonly prices: StripePriceIds
}

const metadataOf = (purchase: Purchase, userId: string): Record<string, string> => ({
  kind: purchase.kind,
  userId,
  ...(purchase.kind === "plan" ? { plan: purchase.plan } : {}),
  ...(purchase.kind === "credits" ? { credits: String(purchase.credits) } : {})
})

const idOf = (named: string | { readonly id: string } | null) =>
  typeof named === "string" ? named : (named?.id ?? null)
const isSoldPlan = Schema.is(Schema.Union(CheckoutPlanId, BillingPlanId))
const isKind = Schema.is(Schema.Literal("plan", "storage"))
const subscriptionOf = ({ id, metadata, status }: Stripe.Subscription) => {
  const { kind, plan } = metadata
  return {
    id: CardSubscriptionId.make(id),
    kind: isKind(kind) ? kind : null,
    plan: isSoldPlan(plan) ? plan : null,
    isPaid: status === "active" || status === "trialing"
  }
}

const missingOrUnavailable = (
  customerId: CustomerId,
  failed: StripeCallFailed
): Effect.Effect<never, CardCustomerMissing | CardProcessorUnavailable> =>
  isCustomerMissing(failed.error) ? new CardCustomerMissing({ customerId }) : toCardProcessorUnavailable(failed)

/** Default for a customer that no longer exists. */
const orWhereMissing =
  <A>(nothing: A) =>
  <B>(found: Effect.Effect<B, StripeCallFailed>): Effect.Effect<A | B, StripeCallFailed> =>
    Effect.catchIf(
      found,
      ({ error }) => isStripeObjectMissing(error),
      () => Effect.succeed(nothing)
    )

const ignoreMissing = (failed: StripeCallFailed) =>
  isStripeObjectMissing(failed.error) ? Effect.void : toCardProcessorUnavailable(failed)

/** Metadata of a charge or checkout: the id of its purchase attempt. */
const attemptKey = "attempt"

const make = ({ prices, ...access }: StripeCardProcessorOptions): Context.Tag.Service<CardProcessor> => {
  const call = makeStripeClient(access)

  /** The charge of an attempt that was paid or is processing. */
  const findCharge = (customerId: CustomerId, attempt: string) =>
    Effect.map(
      call((stripe) => stripe.paymentIntents.list({ customer: customerId, limit: 100 })),
      ({ data }) =>
        Array.findFirst(data, (intent) =>
          intent.metadata[attemptKey] === attempt ? foundCharge(intent) : Option.none<FoundCharge>()
        )
    ).pipe(orWhereMissing(Option.none<FoundCharge>()))

  const savedMethod = (customerId: CustomerId) =>
    Effect.gen(function* () {
      const customer = yield* call((stripe) => stripe.customers.retrieve(customerId))
      if (customer.deleted === true) return Option.none<string>()
      const chosen = idOf(customer.invoice_settings.default_payment_method)
      if (chosen !== null) return Option.some(chosen)
      const { data } = yield* call((stripe) =>
        stripe.customers.listPaymentMethods(customerId, { type: "card", limit: 1 })
      )
      return Option.map(Option.fromNullable(data[0]), ({ id }) => id)
    }).pipe(orWhereMissing(Option.none<string>()))

  const priceOf = (plan: SoldPlanId, idempotencyKey: string) => {
    const id = prices.plans[plan]
    if (id !== undefined) return Effect.succeed(id)
    const { amount, currency } = findPlanPrice(plan)
    return Effect.map(
      call((stripe) =>
        stripe.prices.create(
          {
            currency: currency.toLowerCase(),
            unit_amount: amount,
            recurring: { interval: "month" },
            product_data: { name: productNames.plan(plan) }
          },
          { idempotencyKey: `${idempotencyKey}-price` }
        )
      ),
      (price) => price.id
    )
  }

  return CardProcessor.of({
    createCustomer: Effect.fn("CardProcessor.createCustomer")(function* ({ currency, email, idempotencyKey, userId }) {
      const { id } = yield* call((stripe) =>
        stripe.customers.create({ email, metadata: { userId, currency } }, { idempotencyKey })
      )
      return CustomerId.make(id)
    }, Effect.mapError(toCardProcessorUnavailable)),

    createCheckout: Effect.fn("CardProcessor.createCheckout")(
      function* ({ cancelUrl, customerId, idempotencyKey, purchase, successUrl, userId }) {
        const metadata = metadataOf(purchase, userId)
        const { url } = yield* call((stripe) =>
          stripe.checkout.sessions.create(
            {
              customer: customerId,
              client_reference_id: userId,
              line_items: [makeLineItem(prices, purchase)],
              // An event that ends this attempt names it; what comes of the checkout later does not.
              metadata: { ...metadata, [attemptKey]: idempotencyKey },
              success_url: successUrl.href,
              cancel_url: cancelUrl.href,
              ...(purchase.kind === "credits"
                ? { mode: "payment", payment_intent_data: { metadata, setup_future_usage: "off_session" } }
                : { mode: "subscription", subscription_data: { metadata } })
            },
            { idempotencyKey }
          )
        )
        // A repetition after the payment returns the same page.
        return url === null || !URL.canParse(url)
          ? yield* new CardProcessorUnavailable({ reason: "the checkout has no address" })
          : new URL(url)
      },
      (made, { customerId }) =>
        Effect.catchTag(made, "StripeCallFailed", (failed) => missingOrUnavailable(customerId, failed))
    ),

    hasSavedCard: Effect.fn("CardProcessor.hasSavedCard")(
      (customerId) => Effect.map(savedMethod(customerId), Option.isSome),
      Effect.mapError(toCardProcessorUnavailable)
    ),

    chargeSavedCard: Effect.fn("CardProcessor.chargeSavedCard")(
      function* ({ customerId, idempotencyKey, purchase, userId }) {
        const method = yield* savedMethod(customerId)
        // The card may have been charged by an earlier request and removed since.
        if (Option.isNone(method))
          return Option.getOrElse(yield* findCharge(customerId, idempotencyKey), () => ChargeOutcome.NeedsCheckout())
        const { amount, currency } = purchase.price
        return yield* call((stripe) =>
          stripe.paymentIntents.create(
            {
              amount,
              currency: currency.toLowerCase(),
              customer: customerId,
              payment_method: method.value,
              confirm: true,
              off_session: true,
              description: productNames.credits(purchase.credits),
              metadata: { ...metadataOf(purchase, userId), [attemptKey]: idempotencyKey }
            },
            { idempotencyKey }
          )
        ).pipe(
          Effect.map((intent) => Option.getOrElse(foundCharge(intent), () => ChargeOutcome.NeedsCheckout())),
          // The first request named another card: its outcome counts.
          Effect.catchIf(
            ({ error }) => isIdempotencyConflict(error),
            (failed) =>
              Effect.flatMap(
                findCharge(customerId, idempotencyKey),
                Option.match({ onNone: () => Effect.fail(failed), onSome: Effect.succeed })
              )
          )
        )
      },
      Effect.mapError(toPurchaseFailure),
      Effect.catchIf(
        (error) => error._tag === "PurchaseDeclined" && error.declineCode === "authentication_required",
        () => Effect.succeed(ChargeOutcome.NeedsCheckout())
      )
    ),

    findCharge: Effect.fn("CardProcessor.findCharge")(
      ({ customerId, idempotencyKey }) => findCharge(customerId, idempotencyKey),
      Effect.mapError(toCardProcessorUnavailable)
    ),

    createPortalUrl: Effect.fn("CardProcessor.createPortalUrl")(
      function* (customerId, returnUrl) {
        const { url } = yield* call((stripe) =>
          stripe.billingPortal.sessions.create({ customer: customerId, return_url: returnUrl.href })
        )
        return new URL(url)
      },
      (made, customerId) => Effect.catchAll(made, (failed) => missingOrUnavailable(customerId, failed))
    ),

    listSubscriptions: Effect.fn("CardProcessor.listSubscriptions")(function* (customerId) {
      const { data } = yield* call((stripe) => stripe.subscriptions.list({ customer: customerId, limit: 100 })).pipe(
        orWhereMissing<{ readonly data: ReadonlyArray<Stripe.Subscription> }>({ data: [] })
      )
      return data.filter(({ status }) => status !== "incomplete_expired" && status !== "canceled").map(subscriptionOf)
    }, Effect.mapError(toCardProcessorUnavailable)),

    expirePlanCheckouts: Effect.fn("CardProcessor.expirePlanCheckouts")(function* ({ customerId, exceptKey }) {
      const { data } = yield* call((stripe) =>
        stripe.checkout.sessions.list({ customer: customerId, status: "open", limit: 100 })
      )
      yield* Effect.forEach(
        data.filter(({ metadata }) => metadata?.["kind"] === "plan" && metadata[attemptKey] !== exceptKey),
        ({ id }) =>
          call((stripe) => stripe.checkout.sessions.expire(id)).pipe(
            Effect.catchIf(
              ({ error }) => isStripeRequestInvalid(error),
              () => Effect.void
            )
          ),
        { discard: true }
      )
    }, Effect.mapError(toCardProcessorUnavailable)),

    scheduleSubscriptionChange: Effect.fn("CardProcessor.scheduleSubscriptionChange")(
      function* ({ id, idempotencyKey, plan }) {
        const { items, schedule } = yield* call((stripe) => stripe.subscriptions.retrieve(id))
        const [item] = items.data
        if (item === undefined) return yield* new CardProcessorUnavailable({ reason: "the subscription has no item" })
        const price = yield* priceOf(plan, idempotencyKey)
        const scheduleId =
          idOf(schedule) ??
          (yield* call((stripe) =>
            stripe.subscriptionSchedules.create(
              { from_subscription: id },
              { idempotencyKey: `${idempotencyKey}-schedule` }
            )
          )).id
        yield* call((stripe) =>
          stripe.subscriptionSchedules.update(
            scheduleId,
            {
              end_behavior: "release",
              phases: [
                {
                  items: [{ price: item.price.id, quantity: 1 }],
                  start_date: item.current_period_start,
                  end_date: item.current_period_end
                },
                {
                  items: [{ price, quantity: 1 }],
                  metadata: { kind: "plan", plan },
                  proration_behavior: "none",
                  duration: { interval: "month", interval_count: 1 }
                }
              ]
            },
            { idempotencyKey }
          )
        )
      },
      Effect.mapError((error) => (error._tag === "StripeCallFailed" ? toCardProcessorUnavailable(error) : error))
    ),

    updateSubscription: Effect.fn("CardProcessor.updateSubscription")(
      function* ({ id, idempotencyKey, plan }) {
        const { items, schedule } = yield* call((stripe) => stripe.subscriptions.retrieve(id))
        const scheduleId = idOf(schedule)
        if (scheduleId !== null) yield* call((stripe) => stripe.subscriptionSchedules.release(scheduleId))
        const [item] = items.data
        if (item === undefined) return yield* new CardProcessorUnavailable({ reason: "the subscription has no item" })
        const price = yield* priceOf(plan, idempotencyKey)
        yield* call((stripe) =>
          stripe.subscriptions.update(
            id,
            {
              items: [{ id: item.id, price }],
              metadata: { kind: "plan", plan },
              cancel_at_period_end: false,
              // The difference is charged now; a failed payment changes nothing.
              proration_behavior: "always_invoice",
              payment_behavior: "error_if_incomplete"
            },
            { idempotencyKey }
          )
        )
      },
      Effect.mapError((error) => (error._tag === "StripeCallFailed" ? toPurchaseFailure(error) : error))
    ),

    cancelSubscription: Effect.fn("CardProcessor.cancelSubscription")(function* (id) {
      yield* call((stripe) => stripe.subscriptions.cancel(id)).pipe(Effect.asVoid, Effect.catchAll(ignoreMissing))
    }),

    removeCustomer: Effect.fn("CardProcessor.removeCustomer")(function* (customerId) {
      yield* call((stripe) => stripe.customers.del(customerId)).pipe(Effect.asVoid, Effect.catchAll(ignoreMissing))
    })
  })
}

const foundCharge = ({ id, status }: Stripe.PaymentIntent): Option.Option<FoundCharge> => {
  if (status === "succeeded") return Option.some(ChargeOutcome.Paid({ paymentId: id }))
  return status === "processing" ? Option.some(ChargeOutcome.UnderWay()) : Option.none()
}

export const layer = (options: StripeCardProcessorOptions): Layer.Layer<CardProcessor> =>
  Layer.sync(CardProcessor, () => make(options))

const notConfigured = () => new CardProcessorNotConfigured()

/** Without a key every call fails. */
export const layerNotConfigured: Layer.Layer<CardProcessor> = Layer.succeed(CardProcessor, {
  createCustomer: notConfigured,
  createCheckout: notConfigured,
  hasSavedCard: notConfigured,
  chargeSavedCard: notConfigured,
  findCharge: notConfigured,
  createPortalUrl: notConfigured,
  expirePlanCheckouts: notConfigured,
  listSubscriptions: notConfigured,
  scheduleSubscriptionChange: notConfigured,
  updateSubscription: notConfigured,
  cancelSubscription: notConfigured,
  removeCustomer: notConfigured
})
