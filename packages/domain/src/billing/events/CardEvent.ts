import { Schema } from "effect"

/** Events of purchases, subscriptions and their invoices. */
export const PurchaseEventType = Schema.Literal(
  "checkout.session.completed",
  "checkout.session.async_payment_succeeded",
  "checkout.session.async_payment_failed",
  "customer.subscription.created",
  "customer.subscription.updated",
  "customer.subscription.deleted",
  "invoice.payment_succeeded",
  "invoice.payment_failed"
)
export type PurchaseEventType = typeof PurchaseEventType.Type

/** Events of money that went back. */
export const ReversalEventType = Schema.Literal("charge.refunded", "charge.dispute.created", "charge.dispute.closed")
export type ReversalEventType = typeof ReversalEventType.Type

/** The events that are applied; any other is acknowledged and ignored. */
export const CardEventType = Schema.Union(PurchaseEventType, ReversalEventType)
export type CardEventType = typeof CardEventType.Type

/** What every event of the card processor has, whatever it tells of. */
export const CardEventEnvelope = Schema.Struct({
  /** Of this event, however often it is sent. */
  id: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)),
  type: Schema.String,
  /** Seconds since 1970. */
  created: Schema.Int.pipe(Schema.between(0, 253_402_300_799)),
  data: Schema.Struct({ object: Schema.Object })
})
export type CardEventEnvelope = typeof CardEventEnvelope.Type

export interface PurchaseEvent extends CardEventEnvelope {
  readonly type: PurchaseEventType
}
export interface ReversalEvent extends CardEventEnvelope {
  readonly type: ReversalEventType
}
/** An event that is applied. */
export type CardEvent = PurchaseEvent | ReversalEvent

const isApplied = Schema.is(CardEventType)
const isReversal = Schema.is(ReversalEventType)

export const isCardEvent = (event: CardEventEnvelope): event is CardEvent => isApplied(event.type)
export const isReversalEvent = (event: CardEvent): event is ReversalEvent => isReversal(event.type)
