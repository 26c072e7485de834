import { texts } from "../texts.ts"
import type { BillingJson } from "../wire.ts"

export const findPlanName = ({ currentPlan }: BillingJson): string => texts.plans[currentPlan]
