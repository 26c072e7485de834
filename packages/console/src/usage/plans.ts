import type { BillingJson } from "../wire.ts"

/** The name under which the current plan is sold, else its id, capitalized. */
export const findPlanName = ({ currentPlan, plans }: BillingJson): string =>
  plans[currentPlan]?.name ?? currentPlan.charAt(0).toUpperCase() + currentPlan.slice(1)
