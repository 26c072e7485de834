import type { ConsolePricing } from "@berth/api/pages/ConsoleSettings"
import { creditPacks } from "@berth/domain/billing/credits/CreditPack"
import { billingPlans, checkoutPlans, type SoldPlan } from "@berth/domain/billing/subscriptions/PlanCatalog"
import { formatPrice } from "./Layout.ts"
import { listPlanFeatures } from "./PlanFeatures.ts"

/** Formats the items for sale. `creditPrices` are credits by price id of the card processor. */
export const formatPricing = (creditPrices: ReadonlyMap<string, number>, isWithoutPayment: boolean): ConsolePricing => {
  const listed = (plans: ReadonlyArray<SoldPlan>, isByLink: boolean) =>
    plans.map((plan) => ({
      id: plan.id,
      name: plan.name,
      price: formatPrice(plan.price, plan.currency),
      currency: plan.currency,
      features: listPlanFeatures(plan),
      isByLink
    }))
  return {
    plans: [...listed(checkoutPlans, true), ...listed(billingPlans, false)],
    packs: creditPacks.map(({ credits, pack, price }) => ({ pack, credits, price: formatPrice(price, "USD") })),
    creditLinks: [...creditPrices].map(([id, credits]) => ({
      credits,
      href: `/api/cardProcessor/credits?${new URLSearchParams({ price: id }).toString()}`
    })),
    isWithoutPayment
  }
}
