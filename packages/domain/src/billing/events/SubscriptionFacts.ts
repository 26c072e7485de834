import { Order, Schema } from "effect"
import { PlanId } from "../../shared/PlanId.ts"
import { UserId } from "../../shared/UserId.ts"

/**
 * When something was said, and how much it counts. Events come twice, late and in any order, and several are made in one
 * second: this puts any two of them in an order of their own, which is the same whoever asks.
 */
export const EventMoment = Schema.Struct({
  /** What says so itself counts more than what only lets it be guessed, whenever that was said. */
  strength: Schema.Int,
  /** Seconds since 1970. */
  created: Schema.Int,
  /** Among what was said in one second. */
  weight: Schema.Int,
  /** The event's. */
  id: Schema.String
})
export type EventMoment = typeof EventMoment.Type

export const eventMomentOrder: Order.Order<EventMoment> = Order.combineAll([
  Order.mapInput(Order.number, ({ strength }: EventMoment) => strength),
  Order.mapInput(Order.number, ({ created }: EventMoment) => created),
  Order.mapInput(Order.number, ({ weight }: EventMoment) => weight),
  Order.mapInput(Order.string, ({ id }: EventMoment) => id)
])

/** The newest that was said of one thing. */
export interface TimedValue<A> {
  readonly value: A
  readonly moment: EventMoment
}
const said = <A, I>(value: Schema.Schema<A, I>) => Schema.NullOr(Schema.Struct({ value, moment: EventMoment }))

export const pickNewest = <A>(one: TimedValue<A> | null, other: TimedValue<A> | null): TimedValue<A> | null => {
  if (one === null || other === null) return one ?? other
  return eventMomentOrder(one.moment, other.moment) >= 0 ? one : other
}

/** What is paid for every month: a plan, or more storage. */
export const RecurringItem = Schema.Union(PlanId, Schema.Literal("storage"))
export type RecurringItem = typeof RecurringItem.Type

/** `incomplete`: the first payment has not arrived, so nothing was bought yet. */
export const PaymentState = Schema.Literal("active", "past_due", "incomplete")
export type PaymentState = typeof PaymentState.Type

/** All that is known of one subscription at the card processor. */
export const SubscriptionFacts = Schema.Struct({
  sold: said(RecurringItem),
  state: said(PaymentState),
  /** Seconds since 1970. */
  periodEnd: said(Schema.Int),
  /** Who it was bought for, as our checkout wrote on it. */
  owner: said(UserId),
  /** It is over, and a subscription that is over never comes back. */
  ended: Schema.Boolean,
  /** The earliest moment that anybody spoke of it, in seconds since 1970. */
  startedAt: Schema.Int,
  /** The latest. */
  lastEventAt: Schema.Int
})
export type SubscriptionFacts = typeof SubscriptionFacts.Type

/** What two know of one subscription, together. The same in any order, however often, and however it is grouped. */
export const mergeSubscriptionFacts = (one: SubscriptionFacts, other: SubscriptionFacts): SubscriptionFacts => ({
  sold: pickNewest(one.sold, other.sold),
  state: pickNewest(one.state, other.state),
  periodEnd: pickNewest(one.periodEnd, other.periodEnd),
  owner: pickNewest(one.owner, other.owner),
  ended: one.ended || other.ended,
  startedAt: Math.min(one.startedAt, other.startedAt),
  lastEventAt: Math.max(one.lastEventAt, other.lastEventAt)
})
