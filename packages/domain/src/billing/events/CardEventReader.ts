import { Array, Data, Either, Option, ParseResult, Schema } from "effect"
import { parseEmail } from "../../shared/Email.ts"
import type { PurchaseEvent } from "./CardEvent.ts"
import type { CardFact, CreditPurchase, PaidAmount } from "./CardFact.ts"
import { PurchaseAttemptId } from "../checkout/PurchaseAttempts.ts"
import * as Objects from "./CardProcessorObjects.ts"
import { type PurchasedItem, identifyPurchasedItem, type EventPrice } from "./PurchasedItem.ts"
import type { EventMoment, PaymentState, TimedValue, RecurringItem, SubscriptionFacts } from "./SubscriptionFacts.ts"
import { UserId } from "../../shared/UserId.ts"

/** An event whose object is not of the shape that its type says. The reason names members, and quotes nothing of the event. */
export class CardEventUnreadable extends Data.TaggedError("CardEventUnreadable")<{ readonly reason: string }> {}

type Prices = ReadonlyMap<string, PurchasedItem>

/*
 * Of what was said in one second: a beginning is before all that follows it, and of a payment the outcome before what the
 * processor makes of it. That a first payment is awaited never takes back that it came.
 */
const weights: Record<PurchaseEvent["type"], number> = {
  "customer.subscription.created": 1,
  "invoice.payment_failed": 2,
  "invoice.payment_succeeded": 3,
  "checkout.session.completed": 4,
  "checkout.session.async_payment_succeeded": 4,
  "checkout.session.async_payment_failed": 4,
  "customer.subscription.updated": 5,
  "customer.subscription.deleted": 6
}
const stateWeights: Record<PaymentState, number> = { incomplete: 0, past_due: 1, active: 2 }
const weightOf = (event: PurchaseEvent, state: PaymentState | undefined) =>
  state === "incomplete" ? 0 : weights[event.type] * 10 + (state === undefined ? 0 : stateWeights[state])

const itself = 2
const guessed = 1

const momentOf = (event: PurchaseEvent, strength: number, state?: PaymentState): EventMoment => ({
  strength,
  created: event.created,
  weight: weightOf(event, state),
  id: event.id
})

/** A status at the card processor: what it means for what was bought, or that it is over. `paused`: a trial that ended without a card. */
const stateOf = (status: string): Option.Option<PaymentState | "ended"> => {
  switch (status) {
    case "active":
    case "trialing":
      return Option.some("active")
    case "past_due":
    case "unpaid":
    case "paused":
      return Option.some("past_due")
    case "incomplete":
      return Option.some("incomplete")
    case "canceled":
    case "incomplete_expired":
      return Option.some("ended")
    default:
      return Option.none()
  }
}

const soldOf = (purchase: Option.Option<PurchasedItem>): Option.Option<RecurringItem> =>
  Option.flatMap(purchase, (bought) => {
    switch (bought._tag) {
      case "Plan":
        return Option.some<RecurringItem>(bought.plan)
      case "Storage":
        return Option.some<RecurringItem>("storage")
      case "Credits":
        return Option.none()
    }
  })

const userIdsOf = (texts: ReadonlyArray<string | undefined>) =>
  Array.dedupe(texts.flatMap((text) => (text === undefined || text === "" ? [] : [UserId.make(text)])))

const priceOf = (price: Objects.PriceObject): EventPrice => ({
  id: price.id,
  amount: price.unit_amount,
  currency: price.currency
})

const pricesOf = (
  items: Option.Option<{ readonly data: ReadonlyArray<{ readonly price: Option.Option<Objects.PriceObject> }> }>
) =>
  Option.match(items, {
    onNone: () => [],
    onSome: ({ data }) => data.flatMap(({ price }) => (Option.isSome(price) ? [priceOf(price.value)] : []))
  })

const saidAt = <A>(value: Option.Option<A>, moment: EventMoment): TimedValue<A> | null =>
  Option.match(value, { onNone: () => null, onSome: (known) => ({ value: known, moment }) })

const factsOf = (
  event: PurchaseEvent,
  known: {
    readonly sold: Option.Option<RecurringItem>
    readonly soldStrength: number
    readonly state: Option.Option<PaymentState>
    readonly periodEnd: Option.Option<number>
    readonly ended: boolean
    readonly startedAt: number
  }
): SubscriptionFacts => ({
  sold: saidAt(known.sold, momentOf(event, known.soldStrength)),
  state: saidAt(known.state, momentOf(event, itself, Option.getOrUndefined(known.state))),
  periodEnd: saidAt(known.periodEnd, momentOf(event, itself)),
  // Whose it is depends on who there is, so whoever applies the fact says it.
  owner: null,
  ended: known.ended,
  startedAt: known.startedAt,
  lastEventAt: event.created
})

const emailOf = (texts: ReadonlyArray<Option.Option<string>>) => Option.flatMap(Option.firstSomeOf(texts), parseEmail)

const isPaid = (type: PurchaseEvent["type"], { payment_status }: Objects.CheckoutSessionObject) =>
  type !== "checkout.session.async_payment_failed" &&
  Option.match(payment_status, {
    onNone: () => true,
    onSome: (status) => status === "paid" || status === "no_payment_required"
  })

const paidOf = (amount: Option.Option<number>, currency: Option.Option<string>): PaidAmount => ({
  amount: Math.max(0, Math.round(Option.getOrElse(amount, () => 0))),
  currency: Option.getOrElse(currency, () => "usd").toUpperCase()
})

/** Credits are booked by the first of their names: that of the payment, which a purchase without a checkout has too. */
const namesOf = (names: ReadonlyArray<Option.Option<string>>) => Array.getSomes(names)

const creditsOf = (
  purchase: Option.Option<PurchasedItem>,
  names: ReadonlyArray<string>,
  paid: PaidAmount
): Option.Option<CreditPurchase> => {
  const [first, ...rest] = names
  return Option.isSome(purchase) && purchase.value._tag === "Credits" && first !== undefined
    ? Option.some({
        names: [first, ...rest],
        credits: purchase.value.credits,
        paid
      })
    : Option.none()
}

const ofSession = (event: PurchaseEvent, session: Objects.CheckoutSessionObject, known: Prices): CardFact => {
  const recurs = Option.match(session.mode, {
    onNone: () => Option.isSome(session.subscription),
    onSome: (mode) => mode === "subscription"
  })
  const paid = isPaid(event.type, session)
  const purchase = identifyPurchasedItem(
    {
      metadata: session.metadata,
      prices: [
        ...pricesOf(session.line_items),
        { id: Option.none(), amount: session.amount_total, currency: session.currency }
      ],
      recurs
    },
    known
  )
  const sold = soldOf(purchase)
  // What is sold by the month and was paid once is kept under the name of its checkout.
  const id = Option.getOrElse(session.subscription, () => session.id)
  return {
    moment: momentOf(event, itself),
    payer: Option.getOrElse(session.customer, () => id),
    userIds: userIdsOf([session.metadata["userId"], Option.getOrUndefined(session.client_reference_id)]),
    email: emailOf([Option.flatMap(session.customer_details, ({ email }) => email), session.customer_email]),
    subscription:
      paid && (recurs || Option.isSome(sold))
        ? Option.some({
            id,
            facts: factsOf(event, {
              sold,
              soldStrength: itself,
              state: Option.some("active"),
              periodEnd: Option.none(),
              ended: false,
              startedAt: event.created
            })
          })
        : Option.none(),
    credits: paid
      ? creditsOf(
          purchase,
          namesOf([session.payment_intent, session.invoice, Option.some(session.id)]),
          paidOf(session.amount_total, session.currency)
        )
      : Option.none(),
    invoice: Option.none(),
    failedAttempt:
      event.type === "checkout.session.async_payment_failed"
        ? Option.map(Option.fromNullable(session.metadata["attempt"]), (id) => PurchaseAttemptId.make(id))
        : Option.none(),
    // Of a subscription its own events say what it is for; who only leaves a card has bought nothing.
    isUnclear:
      paid && Option.isNone(purchase) && Option.isNone(session.subscription) && !Option.contains(session.mode, "setup")
  }
}

const ofSubscription = (event: PurchaseEvent, object: Objects.SubscriptionObject, known: Prices): CardFact => {
  const purchase = identifyPurchasedItem(
    { metadata: object.metadata, prices: pricesOf(object.items), recurs: true },
    known
  )
  const state = stateOf(object.status)
  const ends = Option.match(object.items, {
    onNone: () => [],
    onSome: ({ data }) => Array.getSomes(data.map(({ current_period_end }) => current_period_end))
  })
  return {
    moment: momentOf(event, itself),
    payer: Option.getOrElse(object.customer, () => object.id),
    userIds: userIdsOf([object.metadata["userId"]]),
    email: Option.none(),
    subscription: Option.some({
      id: object.id,
      facts: factsOf(event, {
        sold: soldOf(purchase),
        soldStrength: itself,
        state: Option.filter(state, (now): now is PaymentState => now !== "ended"),
        periodEnd: Option.orElse(Option.fromNullable(ends[0]), () => object.current_period_end),
        ended: event.type === "customer.subscription.deleted" || Option.contains(state, "ended"),
        startedAt: Math.min(
          Option.getOrElse(object.created, () => event.created),
          event.created
        )
      })
    }),
    credits: Option.none(),
    invoice: Option.none(),
    failedAttempt: Option.none(),
    isUnclear: Option.isNone(soldOf(purchase)) && event.type !== "customer.subscription.deleted"
  }
}

const ofInvoice = (event: PurchaseEvent, invoice: Objects.InvoiceObject, known: Prices): CardFact => {
  const paid = event.type === "invoice.payment_succeeded"
  const details = Option.orElse(
    Option.flatMap(invoice.parent, ({ subscription_details }) => subscription_details),
    () => invoice.subscription_details
  )
  const subscription = Option.orElse(
    Option.flatMap(details, (found) => found.subscription),
    () => invoice.subscription
  )
  const ofDetails = Option.match(details, { onNone: () => ({}), onSome: (found) => found.metadata })
  const metadata: Readonly<Record<string, string>> = { ...ofDetails, ...invoice.metadata }
  const recurs = Option.isSome(subscription)
  // What stands on the lines of an invoice may be a part of a month, or of a plan that was left.
  const purchase = identifyPurchasedItem({ metadata, prices: [], recurs }, known)
  const payments = Option.match(invoice.payments, {
    onNone: () => [],
    onSome: ({ data }) => data.map(({ payment }) => Option.flatMap(payment, ({ payment_intent }) => payment_intent))
  })
  return {
    moment: momentOf(event, itself),
    payer: Option.getOrElse(Option.firstSomeOf([invoice.customer, subscription, invoice.id]), () => event.id),
    userIds: userIdsOf([metadata["userId"]]),
    email: emailOf([invoice.customer_email]),
    subscription: Option.map(subscription, (id) => ({
      id,
      facts: factsOf(event, {
        sold: soldOf(purchase),
        soldStrength: guessed,
        state: Option.some(paid ? "active" : "past_due"),
        periodEnd: Option.none(),
        ended: false,
        startedAt: event.created
      })
    })),
    credits:
      paid && !recurs
        ? creditsOf(
            purchase,
            namesOf([invoice.payment_intent, ...payments, invoice.id]),
            paidOf(invoice.amount_paid, invoice.currency)
          )
        : Option.none(),
    invoice: Option.filter(
      Option.map(invoice.id, (id) => ({
        id,
        sold: Option.getOrNull(soldOf(purchase)),
        ...paidOf(invoice.amount_paid, invoice.currency)
      })),
      ({ amount }) => paid && recurs && amount > 0
    ),
    failedAttempt: Option.none(),
    isUnclear: false
  }
}

/** Decodes the object of an event. */
export const reading =
  <A, I>(schema: Schema.Schema<A, I>) =>
  (object: object) =>
    Either.mapLeft(
      Schema.decodeUnknownEither(schema)(object),
      (error) =>
        new CardEventUnreadable({
          reason: ParseResult.ArrayFormatter.formatErrorSync(error)
            .map(({ path }) => path.join("."))
            .join(", ")
        })
    )
const readSession = reading(Objects.CheckoutSessionObject)
const readSubscription = reading(Objects.SubscriptionObject)
const readInvoice = reading(Objects.InvoiceObject)

/** Reads what an event says of a purchase, whichever version of the card processor's API wrote it. */
export const readCardEvent = (event: PurchaseEvent, known: Prices): Either.Either<CardFact, CardEventUnreadable> => {
  const { object } = event.data
  switch (event.type) {
    case "checkout.session.completed":
    case "checkout.session.async_payment_succeeded":
    case "checkout.session.async_payment_failed":
      return Either.map(readSession(object), (session) => ofSession(event, session, known))
    case "customer.subscription.created":
    case "customer.subscription.updated":
    case "customer.subscription.deleted":
      return Either.map(readSubscription(object), (subscription) => ofSubscription(event, subscription, known))
    case "invoice.payment_succeeded":
    case "invoice.payment_failed":
      return Either.map(readInvoice(object), (invoice) => ofInvoice(event, invoice, known))
  }
}
