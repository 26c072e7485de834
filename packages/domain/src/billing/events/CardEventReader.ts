import { Data, Either, ParseResult, Schema } from "effect"
import type { PurchaseEvent } from "./CardEvent.ts"
import type { CardFact } from "./CardFact.ts"
import { CheckoutSessionObject, InvoiceObject, SubscriptionObject } from "./CardProcessorObjects.ts"
import { readCheckoutSession } from "./CheckoutSessionReader.ts"
import { readInvoice } from "./InvoiceReader.ts"
import type { PurchasedItem } from "./PurchasedItem.ts"
import { readSubscription } from "./SubscriptionReader.ts"

/** The event's object does not match the schema of its type. `reason` names members without their values. */
export class CardEventUnreadable extends Data.TaggedError("CardEventUnreadable")<{ readonly reason: string }> {}

export const makeObjectDecoder = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknownEither(schema)
  return (object: object) =>
    Either.mapLeft(
      decode(object),
      (error) =>
        new CardEventUnreadable({
          reason: ParseResult.ArrayFormatter.formatErrorSync(error)
            .map(({ path }) => path.join("."))
            .join(", ")
        })
    )
}
const decodeSession = makeObjectDecoder(CheckoutSessionObject)
const decodeSubscription = makeObjectDecoder(SubscriptionObject)
const decodeInvoice = makeObjectDecoder(InvoiceObject)

/** Reads the purchase of an event, in any API version of the card processor. */
export const readCardEvent = (
  event: PurchaseEvent,
  prices: ReadonlyMap<string, PurchasedItem>
): Either.Either<CardFact, CardEventUnreadable> => {
  const { object } = event.data
  switch (event.type) {
    case "checkout.session.completed":
    case "checkout.session.async_payment_succeeded":
    case "checkout.session.async_payment_failed":
      // A checkout without an id is the only one of its event.
      return Either.map(decodeSession({ id: event.id, ...object }), (session) =>
        readCheckoutSession(event, session, prices)
      )
    case "customer.subscription.created":
    case "customer.subscription.updated":
    case "customer.subscription.deleted":
      return Either.map(decodeSubscription(object), (subscription) => readSubscription(event, subscription, prices))
    case "invoice.payment_succeeded":
    case "invoice.payment_failed":
      return Either.map(decodeInvoice(object), (invoice) => readInvoice(event, invoice, prices))
  }
}
