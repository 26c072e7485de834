import { Schema } from "effect"
import { defineJob } from "../../jobs/JobKind.ts"

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

export const ReversalEventType = Schema.Literal("charge.refunded", "charge.dispute.created", "charge.dispute.closed")
export type ReversalEventType = typeof ReversalEventType.Type

/** Applied event types; other types are acknowledged without being stored. */
export const CardEventType = Schema.Union(PurchaseEventType, ReversalEventType)
export type CardEventType = typeof CardEventType.Type

export const CardEventEnvelope = Schema.Struct({
  /** The same for every delivery of the event. */
  id: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)),
  type: Schema.String,
  /** Seconds since 1970. */
  created: Schema.Int.pipe(Schema.between(0, 253_402_300_799)),
  data: Schema.Struct({ object: Schema.Object })
})
export type CardEventEnvelope = typeof CardEventEnvelope.Type

/** An event of another sender can lack its time, which its signature has too. */
export const SignedCardEvent = Schema.Struct({
  ...CardEventEnvelope.fields,
  created: Schema.optionalWith(CardEventEnvelope.fields.created, { nullable: true })
})

export interface PurchaseEvent extends CardEventEnvelope {
  readonly type: PurchaseEventType
}
export interface ReversalEvent extends CardEventEnvelope {
  readonly type: ReversalEventType
}
export type CardEvent = PurchaseEvent | ReversalEvent

const isApplied = Schema.is(CardEventType)
const isReversal = Schema.is(ReversalEventType)

export const isCardEvent = (event: CardEventEnvelope): event is CardEvent => isApplied(event.type)
export const isReversalEvent = (event: CardEvent): event is ReversalEvent => isReversal(event.type)

export const ApplyCardEventJob = defineJob({
  queue: "card-events",
  name: "apply-card-event",
  payload: Schema.Struct({ eventId: Schema.String })
})
