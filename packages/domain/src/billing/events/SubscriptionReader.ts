import { Array, Option } from "effect"
import type { PurchaseEvent } from "./CardEvent.ts"
import type { CardFact } from "./CardFact.ts"
import type { SubscriptionObject } from "./CardProcessorObjects.ts"
import {
  findRecurringItem,
  makeMoment,
  makeSubscriptionFacts,
  readEventPrices,
  readUserIds,
  stated
} from "./FactParts.ts"
import { identifyPurchasedItem, type PurchasedItem } from "./PurchasedItem.ts"
import type { PaymentState } from "./SubscriptionFacts.ts"

/** `paused`: a trial that ended without a card. */
const readState = (status: string): Option.Option<PaymentState | "ended"> => {
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

export const readSubscription = (
  event: PurchaseEvent,
  object: SubscriptionObject,
  prices: ReadonlyMap<string, PurchasedItem>
): CardFact => {
  const sold = findRecurringItem(
    identifyPurchasedItem({ metadata: object.metadata, prices: readEventPrices(object.items), recurs: true }, prices)
  )
  const state = Option.flatMap(object.status, readState)
  const periodEnds = Option.match(object.items, {
    onNone: () => [],
    onSome: ({ data }) => Array.getSomes(data.map(({ current_period_end }) => current_period_end))
  })
  return {
    moment: makeMoment(event, stated),
    payer: Option.getOrElse(object.customer, () => object.id),
    userIds: readUserIds([object.metadata["userId"]]),
    email: Option.none(),
    subscription: Option.some({
      id: object.id,
      facts: makeSubscriptionFacts(event, {
        sold,
        soldStrength: stated,
        state: Option.filter(state, (known): known is PaymentState => known !== "ended"),
        periodEnd: Option.orElse(Option.fromNullable(periodEnds[0]), () => object.current_period_end),
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
    isUnclear: Option.isNone(sold) && event.type !== "customer.subscription.deleted"
  }
}
