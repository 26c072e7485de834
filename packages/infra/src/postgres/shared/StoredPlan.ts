import { Schema } from "effect"
import { PlanId } from "@berth/domain/shared/PlanId"

const isPlan = Schema.is(PlanId)

/** A plan column. Unknown plans count as free. */
export const StoredPlan = Schema.transform(Schema.String, PlanId, {
  strict: true,
  decode: (text) => (isPlan(text) ? text : "free"),
  encode: (plan) => plan
})
