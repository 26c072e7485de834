import {
  type CardSubscription,
  CardSubscriptionId,
  ChargeOutcome,
  type CustomerId,
  type FoundCharge
} from "@berth/domain/billing/checkout/CardProcessor"
import {
  BillingPlanId,
  CheckoutPlanId,
  findPlanPrice,
  type PricedCredits,
  type Purchase,
  type SoldPlanId
} from "@berth/domain/billing/checkout/Purchase"
import { Option, Schema } from "effect"
import type Stripe from "stripe"
import { makeLineItem, productNames, type StripePriceIds } from "./StripePrices.ts"

/* Requests and responses of the API, as pure functions. */

/** Metadata of a charge or checkout: the id of its purchase attempt. */
export const attemptKey = "attempt"

const makeMetadata = (purchase: Purchase, userId: string): Record<string, string> => ({
  kind: purchase.kind,
  userId,
  ...(purchase.kind === "plan" ? { plan: purchase.plan } : {}),
  ...(purchase.kind === "credits" ? { credits: String(purchase.credits) } : {})
})

/** Returns the id of an object that may be expanded. */
export const readId = (named: string | { readonly id: string } | null) =>
  typeof named === "string" ? named : (named?.id ?? null)

const isSoldPlan = Schema.is(Schema.Union(CheckoutPlanId, BillingPlanId))
const isKind = Schema.is(Schema.Literal("plan", "storage"))

export const parseSubscription = ({ id, metadata, status }: Stripe.Subscription): CardSubscription => {
  const { kind, plan } = metadata
  return {
    id: CardSubscriptionId.make(id),
    kind: isKind(kind) ? kind : null,
    plan: isSoldPlan(plan) ? plan : null,
    isPaid: status === "active" || status === "trialing"
  }
}

/** None unless the charge is paid or processing. */
export const readCharge = ({ id, status }: Stripe.PaymentIntent): Option.Option<FoundCharge> => {
  if (status === "succeeded") return Option.some(ChargeOutcome.Paid({ paymentId: id }))
  return status === "processing" ? Option.some(ChargeOutcome.UnderWay()) : Option.none()
}

interface PurchaseRequest<P extends Purchase = Purchase> {
  readonly purchase: P
  readonly userId: string
  readonly customerId: CustomerId
  readonly idempotencyKey: string
}

export const makeCheckoutParams = (
  prices: StripePriceIds,
  {
    cancelUrl,
    customerId,
    idempotencyKey,
    purchase,
    successUrl,
    userId
  }: PurchaseRequest & { readonly successUrl: URL; readonly cancelUrl: URL }
): Stripe.Checkout.SessionCreateParams => {
  const metadata = makeMetadata(purchase, userId)
  return {
    customer: customerId,
    client_reference_id: userId,
    line_items: [makeLineItem(prices, purchase)],
    // Only the checkout itself names the attempt, since later payments of its subscription do not end the attempt.
    metadata: { ...metadata, [attemptKey]: idempotencyKey },
    success_url: successUrl.href,
    cancel_url: cancelUrl.href,
    ...(purchase.kind === "credits"
      ? { mode: "payment", payment_intent_data: { metadata, setup_future_usage: "off_session" } }
      : { mode: "subscription", subscription_data: { metadata } })
  }
}

export const makeChargeParams = (
  paymentMethod: string,
  { customerId, idempotencyKey, purchase, userId }: PurchaseRequest<PricedCredits>
): Stripe.PaymentIntentCreateParams => ({
  amount: purchase.price.amount,
  currency: purchase.price.currency.toLowerCase(),
  customer: customerId,
  payment_method: paymentMethod,
  confirm: true,
  off_session: true,
  description: productNames.credits(purchase.credits),
  metadata: { ...makeMetadata(purchase, userId), [attemptKey]: idempotencyKey }
})

export const makePriceParams = (plan: SoldPlanId): Stripe.PriceCreateParams => {
  const { amount, currency } = findPlanPrice(plan)
  return {
    currency: currency.toLowerCase(),
    unit_amount: amount,
    recurring: { interval: "month" },
    product_data: { name: productNames.plan(plan) }
  }
}

/** The current price until the end of the period, then `price`. */
export const makeScheduleParams = (
  current: Stripe.SubscriptionItem,
  plan: SoldPlanId,
  price: string
): Stripe.SubscriptionScheduleUpdateParams => ({
  end_behavior: "release",
  phases: [
    {
      items: [{ price: current.price.id, quantity: 1 }],
      start_date: current.current_period_start,
      end_date: current.current_period_end
    },
    {
      items: [{ price, quantity: 1 }],
      metadata: { kind: "plan", plan },
      proration_behavior: "none",
      duration: { interval: "month", interval_count: 1 }
    }
  ]
})

/** Charges the difference now; a failed payment changes nothing. */
export const makePlanUpdateParams = (
  current: Stripe.SubscriptionItem,
  plan: SoldPlanId,
  price: string
): Stripe.SubscriptionUpdateParams => ({
  items: [{ id: current.id, price }],
  metadata: { kind: "plan", plan },
  cancel_at_period_end: false,
  proration_behavior: "always_invoice",
  payment_behavior: "error_if_incomplete"
})
