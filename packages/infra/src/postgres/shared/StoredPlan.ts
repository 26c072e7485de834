import { Schema } from "effect"
import { PlanId } from "@berth/domain/shared/PlanId"

const isPlan = Schema.is(PlanId)

/** A plan column. An unknown plan counts as free. */
export const StoredPlan = Schema.transform(Schema.String, PlanId, {
  strict: true,
  decode: (text) => (isPlan(text) ? text : "free"),
  encode: (plan) => plan
})
