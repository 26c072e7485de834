import { findEntitlements } from "@berth/domain/billing/subscriptions/Plan"
import type { SoldPlan } from "@berth/domain/billing/subscriptions/PlanCatalog"
import { findPlanFeatures } from "@berth/domain/billing/subscriptions/PlanFeatures"
import type { Channel } from "@berth/domain/shared/Channel"
import { capitalize, formatMebibytes } from "./Layout.ts"

const channelNames: Readonly<Record<Channel, string>> = {
  platformA: "Telegram",
  platformB: "WhatsApp",
  platformC: "Discord",
  web: "Web"
}

/** Replaces the code names and units of the catalog by what the plan enforces. */
const describeFeature = (id: SoldPlan["id"], feature: string): string => {
  if (feature.endsWith("RAM")) return `${formatMebibytes(findEntitlements(id).memoryMb)} of memory`
  if (feature.startsWith("platform") || feature === "all channels")
    return findPlanFeatures(id)
      .channels.map((channel) => channelNames[channel])
      .join(", ")
  return capitalize(feature.replace("agent thread", "agent").replace(/^\+(\d+) runtime/, "$1 additional runtime"))
}

/** Lists what a plan includes, for customers. */
export const listPlanFeatures = ({ dailyUnits, features, id }: SoldPlan): ReadonlyArray<string> => [
  `${dailyUnits.toLocaleString("en")} units per day`,
  ...features.map((feature) => describeFeature(id, feature))
]
