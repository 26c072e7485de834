import { Array, Option } from "effect"
import { parseEmail } from "../../shared/Email.ts"
import { MinorUnits } from "../../shared/Money.ts"
import { UserId } from "../../shared/UserId.ts"
import type { PurchaseEvent } from "./CardEvent.ts"
import type { CreditPurchase, PaidAmount } from "./CardFact.ts"
import type { PriceObject } from "./CardProcessorObjects.ts"
import type { EventPrice, PurchasedItem } from "./PurchasedItem.ts"
import type { EventMoment, PaymentState, RecurringItem, SubscriptionFacts, TimedValue } from "./SubscriptionFacts.ts"

/*
 * Order of events within one second: creations before changes, payments before their consequences. A pending first
 * payment never overrides a received one.
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
const findWeight = (event: PurchaseEvent, state: PaymentState | undefined) =>
  state === "incomplete" ? 0 : weights[event.type] * 10 + (state === undefined ? 0 : stateWeights[state])

/** Strength of a value: `stated` by the object itself, or inferred from a related object. */
export const stated = 2
export const inferred = 1

export const makeMoment = (event: PurchaseEvent, strength: number, state?: PaymentState): EventMoment => ({
  strength,
  created: event.created,
  weight: findWeight(event, state),
  id: event.id
})

export const findRecurringItem = (purchase: Option.Option<PurchasedItem>): Option.Option<RecurringItem> =>
  Option.flatMap(purchase, (item) => {
    switch (item._tag) {
      case "Plan":
        return Option.some<RecurringItem>(item.plan)
      case "Storage":
        return Option.some<RecurringItem>("storage")
      case "Credits":
        return Option.none()
    }
  })

export const readUserIds = (texts: ReadonlyArray<string | undefined>) =>
  Array.dedupe(texts.flatMap((text) => (text === undefined || text === "" ? [] : [UserId.make(text)])))

export const readEmail = (texts: ReadonlyArray<Option.Option<string>>) =>
  Option.flatMap(Option.firstSomeOf(texts), parseEmail)

const readPrice = (price: PriceObject): EventPrice => ({
  id: price.id,
  amount: price.unit_amount,
  currency: price.currency
})

export const readEventPrices = (
  items: Option.Option<{ readonly data: ReadonlyArray<{ readonly price: Option.Option<PriceObject> }> }>
) =>
  Option.match(items, {
    onNone: () => [],
    onSome: ({ data }) => data.flatMap(({ price }) => (Option.isSome(price) ? [readPrice(price.value)] : []))
  })

export const readPaidAmount = (amount: Option.Option<number>, currency: Option.Option<string>): PaidAmount => ({
  amount: MinorUnits(Math.max(0, Math.round(Option.getOrElse(amount, () => 0)))),
  currency: Option.getOrElse(currency, () => "usd").toUpperCase()
})

const makeTimed = <A>(value: Option.Option<A>, moment: EventMoment): TimedValue<A> | null =>
  Option.match(value, { onNone: () => null, onSome: (known) => ({ value: known, moment }) })

export const makeSubscriptionFacts = (
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
  sold: makeTimed(known.sold, makeMoment(event, known.soldStrength)),
  state: makeTimed(known.state, makeMoment(event, stated, Option.getOrUndefined(known.state))),
  periodEnd: makeTimed(known.periodEnd, makeMoment(event, stated)),
  // The owner depends on the stored users, so applying the fact sets it.
  owner: null,
  ended: known.ended,
  startedAt: known.startedAt,
  lastEventAt: event.created
})

/** Credits are booked under the first id: the payment's, which purchases without a checkout have too. */
export const makeCreditPurchase = (
  purchase: Option.Option<PurchasedItem>,
  names: ReadonlyArray<Option.Option<string>>,
  paid: PaidAmount
): Option.Option<CreditPurchase> => {
  const [first, ...rest] = Array.getSomes(names)
  return Option.isSome(purchase) && purchase.value._tag === "Credits" && first !== undefined
    ? Option.some({ names: [first, ...rest], credits: purchase.value.credits, paid })
    : Option.none()
}
