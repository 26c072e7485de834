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

/** Stored under the checkout's id, since the subscription is unknown. */
const isOfCheckout = ({ id }: { readonly id: string }) => id.startsWith("cs_")

/**
 * A checkout without a subscription duplicates its payer's earlier subscription to the same item. A subscription that
 * ended without a known item ends it too.
 */
const isTheSameAsAnother = (subscription: RecordedSubscription, all: ReadonlyArray<RecordedSubscription>): boolean =>
  isOfCheckout(subscription) &&
  all.some((other) => {
    if (isOfCheckout(other) || other.payer !== subscription.payer) return false
    const sold = other.facts.sold?.value
    return sold === undefined
      ? other.facts.ended
      : (sold === "storage") === (subscription.facts.sold?.value === "storage")
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
 * Returns the subscription that determines the user's plan: paid ones first, then the newest. Ignores subscriptions
 * that were never paid.
 */
export const findEffectiveSubscription = (
  subscriptions: ReadonlyArray<RecordedSubscription>
): Option.Option<EffectiveSubscription> => {
  const counted = subscriptions.flatMap((subscription): ReadonlyArray<Candidate> => {
    const plan = subscription.facts.sold?.value
    const status = statusOf(subscription)
    if (plan === undefined || plan === "storage" || status === "incomplete") return []
    if (isTheSameAsAnother(subscription, subscriptions)) return []
    const { lastEventAt, periodEnd, startedAt } = subscription.facts
    return [
      {
        id: subscription.id,
        payer: subscription.payer,
        plan,
        status,
        periodEnd: periodEnd?.value ?? null,
        lastEventAt,
        startedAt
      }
    ]
  })
  return Array.isNonEmptyReadonlyArray(counted)
    ? Option.map(Option.some(Array.max(counted, byWorth)), ({ startedAt: _startedAt, ...counting }) => counting)
    : Option.none()
}

/** Whether the storage upgrade applies. It applies even while a monthly payment is outstanding. */
export const hasStorageUpgrade = (subscriptions: ReadonlyArray<RecordedSubscription>): boolean =>
  subscriptions.some(
    (subscription) =>
      subscription.facts.sold?.value === "storage" &&
      ["active", "past_due"].includes(statusOf(subscription)) &&
      !isTheSameAsAnother(subscription, subscriptions)
  )
