import { Data } from "effect"
import type { CardSubscription, CardSubscriptionId, CustomerId } from "./CardProcessor.ts"
import { findPlanPrice, type Purchase, type SoldPlanId, findSoldPlan } from "./Purchase.ts"

/** A subscription that runs, and which of the user's customers it belongs to. */
export interface RunningSubscription extends CardSubscription {
  readonly customerId: CustomerId
}

export type PurchaseDecision = Data.TaggedEnum<{
  readonly Buy: object
  /** He has it already, or has to pay for what he has first: he sees to it at the card processor. */
  readonly Manage: { readonly customerId: CustomerId }
  /** Another plan in place of the one that runs. */
  readonly Change: { readonly customerId: CustomerId; readonly id: CardSubscriptionId; readonly plan: SoldPlanId }
  /** A subscription stays in its currency, and two of them would both be paid. */
  readonly EndOtherFirst: { readonly plan: SoldPlanId }
}>
export const PurchaseDecision = Data.taggedEnum<PurchaseDecision>()

/** What a purchase is, given what runs already: nobody pays for two plans, or for storage twice. */
export const decidePurchase = (purchase: Purchase, running: ReadonlyArray<RunningSubscription>): PurchaseDecision => {
  if (purchase.kind === "credits") return PurchaseDecision.Buy()
  const same = running.find(({ kind }) => kind === purchase.kind)
  if (same === undefined) return PurchaseDecision.Buy()
  const { customerId, id, isPaid, plan } = same
  if (purchase.kind === "storage" || plan === null || plan === purchase.plan || !isPaid)
    return PurchaseDecision.Manage({ customerId })
  return findPlanPrice(plan).currency === findPlanPrice(purchase.plan).currency
    ? PurchaseDecision.Change({ customerId, id, plan: purchase.plan })
    : PurchaseDecision.EndOtherFirst({ plan })
}

/** A plan of another currency runs. */
export class PlanCurrencyConflict extends Data.TaggedError("PlanCurrencyConflict")<{ readonly plan: SoldPlanId }> {
  override get message() {
    const { currency, name } = findSoldPlan(this.plan)
    return `You subscribe to ${name}, which is paid in ${currency}. End it first, then choose a plan in another currency.`
  }
}
