import { Schema } from "effect"

/** Every plan a user can be on: the free one, the checkout plans, the billing-API plans and enterprise. */
export const PlanId = Schema.Literal(
  "free",
  "solo",
  "collective",
  "label",
  "network",
  "starter",
  "pro",
  "scale",
  "enterprise"
).annotations({ identifier: "PlanId" })

export type PlanId = typeof PlanId.Type
