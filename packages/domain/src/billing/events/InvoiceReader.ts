import { Option } from "effect"
import type { PurchaseEvent } from "./CardEvent.ts"
import type { CardFact } from "./CardFact.ts"
import type { InvoiceObject } from "./CardProcessorObjects.ts"
import {
  findRecurringItem,
  inferred,
  makeCreditPurchase,
  makeMoment,
  makeSubscriptionFacts,
  readEmail,
  readPaidAmount,
  readUserIds,
  stated
} from "./FactParts.ts"
import { identifyPurchasedItem, type PurchasedItem } from "./PurchasedItem.ts"

export const readInvoice = (
  event: PurchaseEvent,
  invoice: InvoiceObject,
  prices: ReadonlyMap<string, PurchasedItem>
): CardFact => {
  const paid = event.type === "invoice.payment_succeeded"
  const details = Option.orElse(
    Option.flatMap(invoice.parent, ({ subscription_details }) => subscription_details),
    () => invoice.subscription_details
  )
  const subscription = Option.orElse(
    Option.flatMap(details, (found) => found.subscription),
    () => invoice.subscription
  )
  const detailsMetadata = Option.match(details, { onNone: () => ({}), onSome: (found) => found.metadata })
  const metadata: Readonly<Record<string, string>> = { ...detailsMetadata, ...invoice.metadata }
  const recurs = Option.isSome(subscription)
  // Invoice lines are not read, since they can be parts of a month, or of a former plan.
  const purchase = identifyPurchasedItem({ metadata, prices: [], recurs }, prices)
  const sold = findRecurringItem(purchase)
  const payments = Option.match(invoice.payments, {
    onNone: () => [],
    onSome: ({ data }) => data.map(({ payment }) => Option.flatMap(payment, ({ payment_intent }) => payment_intent))
  })
  const amountPaid = readPaidAmount(invoice.amount_paid, invoice.currency)
  return {
    moment: makeMoment(event, stated),
    payer: Option.getOrElse(Option.firstSomeOf([invoice.customer, subscription, invoice.id]), () => event.id),
    userIds: readUserIds([metadata["userId"]]),
    email: readEmail([invoice.customer_email]),
    subscription: Option.map(subscription, (id) => ({
      id,
      facts: makeSubscriptionFacts(event, {
        sold,
        soldStrength: inferred,
        state: Option.some(paid ? "active" : "past_due"),
        periodEnd: Option.none(),
        ended: false,
        startedAt: event.created
      })
    })),
    credits:
      paid && !recurs
        ? makeCreditPurchase(purchase, [invoice.payment_intent, ...payments, invoice.id], amountPaid)
        : Option.none(),
    invoice: Option.filter(
      Option.map(invoice.id, (id) => ({
        id,
        payments: [invoice.payment_intent, ...payments].flatMap((payment) => Option.toArray(payment)),
        sold: Option.getOrNull(sold),
        ...amountPaid
      })),
      ({ amount }) => paid && recurs && amount > 0
    ),
    failedAttempt: Option.none(),
    isUnclear: false
  }
}
