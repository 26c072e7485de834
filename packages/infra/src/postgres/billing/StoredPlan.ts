import { Schema } from "effect"
import { PlanId } from "@berth/domain/shared/PlanId"

const isPlan = Schema.is(PlanId)

/** A plan's column. One that this version does not know, a later one's or an operator's slip, counts as the free plan: one agent. */
export const StoredPlan = Schema.transform(Schema.String, PlanId, {
  strict: true,
  decode: (text) => (isPlan(text) ? text : "free"),
  encode: (plan) => plan
})
