import type { BillingJson } from "../wire.ts"

/** The current plan's name in the catalog, else its capitalized id. */
export const findPlanName = ({ currentPlan, plans }: BillingJson): string =>
  plans[currentPlan]?.name ?? currentPlan.charAt(0).toUpperCase() + currentPlan.slice(1)
