import { Order, Schema } from "effect"
import { PlanId } from "../../shared/PlanId.ts"
import { UserId } from "../../shared/UserId.ts"

/** Total order of values from events, which can be repeated, late, reordered and simultaneous. */
export const EventMoment = Schema.Struct({
  /** Stated values outrank inferred ones at any time. */
  strength: Schema.Int,
  /** Seconds since 1970. */
  created: Schema.Int,
  /** Order within one second. */
  weight: Schema.Int,
  /** Event id. */
  id: Schema.String
})
export type EventMoment = typeof EventMoment.Type

export const eventMomentOrder: Order.Order<EventMoment> = Order.combineAll([
  Order.mapInput(Order.number, ({ strength }: EventMoment) => strength),
  Order.mapInput(Order.number, ({ created }: EventMoment) => created),
  Order.mapInput(Order.number, ({ weight }: EventMoment) => weight),
  Order.mapInput(Order.string, ({ id }: EventMoment) => id)
])

export interface TimedValue<A> {
  readonly value: A
  readonly moment: EventMoment
}
const dated = <A, I>(value: Schema.Schema<A, I>) => Schema.NullOr(Schema.Struct({ value, moment: EventMoment }))

export const pickNewest = <A>(a: TimedValue<A> | null, b: TimedValue<A> | null): TimedValue<A> | null => {
  if (a === null || b === null) return a ?? b
  return eventMomentOrder(a.moment, b.moment) >= 0 ? a : b
}

export const RecurringItem = Schema.Union(PlanId, Schema.Literal("storage"))
export type RecurringItem = typeof RecurringItem.Type

/** `incomplete`: the first payment is outstanding. */
export const PaymentState = Schema.Literal("active", "past_due", "incomplete")
export type PaymentState = typeof PaymentState.Type

/** Newest known values of a subscription. */
export const SubscriptionFacts = Schema.Struct({
  sold: dated(RecurringItem),
  state: dated(PaymentState),
  /** Seconds since 1970. */
  periodEnd: dated(Schema.Int),
  /** User id from the checkout's metadata. */
  owner: dated(UserId),
  /** Final: an ended subscription is never active again. */
  ended: Schema.Boolean,
  /** Earliest known time, in seconds since 1970. */
  startedAt: Schema.Int,
  /** Latest known time. */
  lastEventAt: Schema.Int
})
export type SubscriptionFacts = typeof SubscriptionFacts.Type

/** Commutative, associative and idempotent. */
export const mergeSubscriptionFacts = (a: SubscriptionFacts, b: SubscriptionFacts): SubscriptionFacts => ({
  sold: pickNewest(a.sold, b.sold),
  state: pickNewest(a.state, b.state),
  periodEnd: pickNewest(a.periodEnd, b.periodEnd),
  owner: pickNewest(a.owner, b.owner),
  ended: a.ended || b.ended,
  startedAt: Math.min(a.startedAt, b.startedAt),
  lastEventAt: Math.max(a.lastEventAt, b.lastEventAt)
})
