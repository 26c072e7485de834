import { Option } from "effect"
import { PurchaseAttemptId } from "../checkout/PurchaseAttempts.ts"
import type { PurchaseEvent } from "./CardEvent.ts"
import type { CardFact } from "./CardFact.ts"
import type { CheckoutSessionObject } from "./CardProcessorObjects.ts"
import {
  findRecurringItem,
  makeCreditPurchase,
  makeMoment,
  makeSubscriptionFacts,
  readEmail,
  readPaidAmount,
  readEventPrices,
  readUserIds,
  stated
} from "./FactParts.ts"
import { identifyPurchasedItem, type PurchasedItem } from "./PurchasedItem.ts"

const isPaid = (type: PurchaseEvent["type"], { payment_status }: CheckoutSessionObject) =>
  type !== "checkout.session.async_payment_failed" &&
  Option.match(payment_status, {
    onNone: () => true,
    onSome: (status) => status === "paid" || status === "no_payment_required"
  })

export const readCheckoutSession = (
  event: PurchaseEvent,
  session: CheckoutSessionObject,
  prices: ReadonlyMap<string, PurchasedItem>
): CardFact => {
  const recurs = Option.match(session.mode, {
    onNone: () => Option.isSome(session.subscription),
    onSome: (mode) => mode === "subscription"
  })
  const paid = isPaid(event.type, session)
  const purchase = identifyPurchasedItem(
    {
      metadata: session.metadata,
      prices: [
        ...readEventPrices(session.line_items),
        { id: Option.none(), amount: session.amount_total, currency: session.currency }
      ],
      recurs
    },
    prices
  )
  const sold = findRecurringItem(purchase)
  // A monthly item that is paid once is stored under the id of its checkout.
  const id = Option.getOrElse(session.subscription, () => session.id)
  return {
    moment: makeMoment(event, stated),
    payer: Option.getOrElse(session.customer, () => id),
    userIds: readUserIds([session.metadata["userId"], Option.getOrUndefined(session.client_reference_id)]),
    email: readEmail([Option.flatMap(session.customer_details, ({ email }) => email), session.customer_email]),
    subscription:
      paid && (recurs || Option.isSome(sold))
        ? Option.some({
            id,
            facts: makeSubscriptionFacts(event, {
              sold,
              soldStrength: stated,
              state: Option.some("active"),
              periodEnd: Option.none(),
              ended: false,
              startedAt: event.created
            })
          })
        : Option.none(),
    credits: paid
      ? makeCreditPurchase(
          purchase,
          [session.payment_intent, session.invoice, Option.some(session.id)],
          readPaidAmount(session.amount_total, session.currency)
        )
      : Option.none(),
    invoice: Option.none(),
    failedAttempt:
      event.type === "checkout.session.async_payment_failed"
        ? Option.map(Option.fromNullable(session.metadata["attempt"]), (attempt) => PurchaseAttemptId.make(attempt))
        : Option.none(),
    // The events of a subscription name its item; a setup session purchases nothing.
    isUnclear:
      paid && Option.isNone(purchase) && Option.isNone(session.subscription) && !Option.contains(session.mode, "setup")
  }
}
