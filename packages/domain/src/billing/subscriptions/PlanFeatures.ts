import { Channel } from "../../shared/Channel.ts"
import { PlanId } from "../../shared/PlanId.ts"

export interface PlanFeatures {
  readonly channels: ReadonlyArray<Channel>
  readonly skills: "basic" | "all"
}

export const allFeatures: PlanFeatures = { channels: Channel.literals, skills: "all" }

// From the published feature lists of the plans; free has the features of starter.
const features: Record<PlanId, PlanFeatures> = {
  free: { channels: ["web", "platformA"], skills: "basic" },
  starter: { channels: ["web", "platformA"], skills: "basic" },
  solo: { channels: ["web", "platformA"], skills: "all" },
  collective: { channels: ["web", "platformA", "platformB"], skills: "all" },
  label: allFeatures,
  network: allFeatures,
  pro: allFeatures,
  scale: allFeatures,
  enterprise: allFeatures
}

export const findPlanFeatures = (plan: PlanId): PlanFeatures => features[plan]

export const findPlansWith = (has: (features: PlanFeatures) => boolean): ReadonlyArray<PlanId> =>
  PlanId.literals.filter((plan) => has(features[plan]))
