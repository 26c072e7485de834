import { Array, Option, Order } from "effect"
import type { SubscriptionStatus } from "../subscriptions/Subscription.ts"
import type { RecordedSubscription } from "./CardFactApplication.ts"
import type { PlanId } from "../../shared/PlanId.ts"

/** The subscription that determines a user's plan. */
export interface EffectiveSubscription {
  readonly id: string
  readonly payer: string
  readonly plan: PlanId
  readonly status: SubscriptionStatus
  /** Seconds since 1970. */
  readonly periodEnd: number | null
  readonly lastEventAt: number
}

/** Kept under the name of a checkout, since no subscription was told of. */
const isOfCheckout = ({ id }: { readonly id: string }) => id.startsWith("cs_")

/**
 * A checkout without a subscription is the same purchase as a subscription of its payer that sells the same, told before it;
 * one that has ended, and does not say what it sold, ends it as well.
 */
const isTheSameAsAnother = (one: RecordedSubscription, all: ReadonlyArray<RecordedSubscription>): boolean =>
  isOfCheckout(one) &&
  all.some((other) => {
    if (isOfCheckout(other) || other.payer !== one.payer) return false
    const sold = other.facts.sold?.value
    return sold === undefined ? other.facts.ended : (sold === "storage") === (one.facts.sold?.value === "storage")
  })

const statusOf = ({ facts }: RecordedSubscription): SubscriptionStatus | "incomplete" =>
  facts.ended ? "canceled" : (facts.state?.value ?? "incomplete")

const ranks: Record<SubscriptionStatus, number> = { active: 2, past_due: 1, canceled: 0 }

interface Candidate extends EffectiveSubscription {
  readonly startedAt: number
}

const byWorth: Order.Order<Candidate> = Order.combineAll([
  Order.mapInput(Order.number, ({ status }: Candidate) => ranks[status]),
  Order.mapInput(Order.number, ({ startedAt }: Candidate) => startedAt),
  Order.mapInput(Order.string, ({ id }: Candidate) => id)
])

/**
 * Of a user's subscriptions the one that counts: one that is paid before one that is not, and of several the newest. What was
 * never paid does not count at all.
 */
export const findEffectiveSubscription = (
  subscriptions: ReadonlyArray<RecordedSubscription>
): Option.Option<EffectiveSubscription> => {
  const counted = subscriptions.flatMap((one): ReadonlyArray<Candidate> => {
    const plan = one.facts.sold?.value
    const status = statusOf(one)
    if (plan === undefined || plan === "storage" || status === "incomplete") return []
    if (isTheSameAsAnother(one, subscriptions)) return []
    const { lastEventAt, periodEnd, startedAt } = one.facts
    return [{ id: one.id, payer: one.payer, plan, status, periodEnd: periodEnd?.value ?? null, lastEventAt, startedAt }]
  })
  return Array.isNonEmptyReadonlyArray(counted)
    ? Option.map(Option.some(Array.max(counted, byWorth)), ({ startedAt: _startedAt, ...counting }) => counting)
    : Option.none()
}

/** Whether more storage is paid for. A month that was not paid yet takes no files away. */
export const hasStorageUpgrade = (subscriptions: ReadonlyArray<RecordedSubscription>): boolean =>
  subscriptions.some(
    (one) =>
      one.facts.sold?.value === "storage" &&
      ["active", "past_due"].includes(statusOf(one)) &&
      !isTheSameAsAnother(one, subscriptions)
  )
