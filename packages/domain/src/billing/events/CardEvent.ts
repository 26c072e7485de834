import { Schema } from "effect"

/** The events of the card processor that say something to us. It is told to send these; any other is acknowledged and forgotten. */
export const CardEventType = Schema.Literal(
  "checkout.session.completed",
  "checkout.session.async_payment_succeeded",
  "checkout.session.async_payment_failed",
  "customer.subscription.created",
  "customer.subscription.updated",
  "customer.subscription.deleted",
  "invoice.payment_succeeded",
  "invoice.payment_failed"
)
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

/** One that we act on. */
export interface CardEvent extends CardEventEnvelope {
  readonly type: CardEventType
}

const isOurs = Schema.is(CardEventType)

export const isCardEvent = (event: CardEventEnvelope): event is CardEvent => isOurs(event.type)
