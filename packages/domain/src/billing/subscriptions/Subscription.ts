import { Schema } from "effect"
import { UserId } from "../../shared/UserId.ts"
import { PlanId } from "../../shared/PlanId.ts"

export const SubscriptionStatus = Schema.Literal("active", "past_due", "canceled")
export type SubscriptionStatus = typeof SubscriptionStatus.Type

export const Subscription = Schema.Struct({ userId: UserId, plan: PlanId, status: SubscriptionStatus })
export type Subscription = typeof Subscription.Type

/** Returns the plan that determines units and features: only an active subscription grants its plan. */
export const findEffectivePlan = ({ plan, status }: Pick<Subscription, "plan" | "status">): PlanId =>
  status === "active" ? plan : "free"
