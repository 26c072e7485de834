import { Data } from "effect"
import type { CardSubscription, CardSubscriptionId, CustomerId } from "./CardProcessor.ts"
import { findPlanPrice, type Purchase, type SoldPlanId, findSoldPlan } from "./Purchase.ts"

export interface RunningSubscription extends CardSubscription {
  readonly customerId: CustomerId
}

type PurchaseDecision = Data.TaggedEnum<{
  readonly Buy: object
  /** Already owned or unpaid: managed at the card processor. */
  readonly Manage: { readonly customerId: CustomerId }
  /** Replaces the running plan: at once if the new plan is dearer, else at the end of the paid period. */
  readonly Change: {
    readonly customerId: CustomerId
    readonly id: CardSubscriptionId
    readonly plan: SoldPlanId
    readonly isUpgrade: boolean
  }
  /** A subscription cannot change its currency, and two subscriptions would both be charged. */
  readonly EndOtherFirst: { readonly plan: SoldPlanId }
}>
const PurchaseDecision = Data.taggedEnum<PurchaseDecision>()

/** Decides how to sell an item. A user has at most one plan and one storage subscription. */
export const decidePurchase = (purchase: Purchase, running: ReadonlyArray<RunningSubscription>): PurchaseDecision => {
  if (purchase.kind === "credits") return PurchaseDecision.Buy()
  const current = running.find(({ kind }) => kind === purchase.kind)
  if (current === undefined) return PurchaseDecision.Buy()
  const { customerId, id, isPaid, plan } = current
  if (purchase.kind === "storage" || plan === null || plan === purchase.plan || !isPaid)
    return PurchaseDecision.Manage({ customerId })
  const [from, to] = [findPlanPrice(plan), findPlanPrice(purchase.plan)]
  return from.currency === to.currency
    ? PurchaseDecision.Change({ customerId, id, plan: purchase.plan, isUpgrade: to.amount > from.amount })
    : PurchaseDecision.EndOtherFirst({ plan })
}

/** The user has a running plan in another currency. */
export class PlanCurrencyConflict extends Data.TaggedError("PlanCurrencyConflict")<{ readonly plan: SoldPlanId }> {
  override get message() {
    const { currency, name } = findSoldPlan(this.plan)
    return `The running plan ${name} is paid in ${currency}. Cancel it before choosing a plan in another currency.`
  }
}
