import { Schema } from "effect"

/** All plans of users: free, checkout plans, billing API plans, and enterprise. */
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
