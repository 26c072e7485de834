import { findEntitlements } from "./Plan.ts"
import type { Units } from "../../shared/Money.ts"
import type { PlanId } from "../../shared/PlanId.ts"

/** A plan as shown to customers; the price is per month. */
export interface SoldPlan {
  readonly id: PlanId
  readonly name: string
  readonly price: number
  readonly currency: "GBP" | "USD"
  /** Units per UTC day. */
  readonly dailyUnits: Units
  readonly features: ReadonlyArray<string>
}

const plan =
  (currency: SoldPlan["currency"]) =>
  (id: PlanId, name: string, price: number, features: ReadonlyArray<string>): SoldPlan => ({
    id,
    name,
    price,
    currency,
    dailyUnits: findEntitlements(id).dailyUnits,
    features
  })
const inPounds = plan("GBP")
const inDollars = plan("USD")

/** Sold through checkout links. */
export const checkoutPlans: ReadonlyArray<SoldPlan> = [
  inPounds("solo", "Solo", 29, ["1 agent thread", "platform A", "2GB RAM"]),
  inPounds("collective", "Collective", 69, ["3 agent threads", "+1 runtime seat", "platform B", "4GB RAM"]),
  inPounds("label", "Label", 149, ["10 agent threads", "+3 runtime seats", "white-label emails", "8GB RAM"]),
  inPounds("network", "Network", 499, ["unlimited agents and seats", "white-label reselling", "16GB RAM"])
]

/** Sold through the billing API. */
export const billingPlans: ReadonlyArray<SoldPlan> = [
  inDollars("starter", "Starter", 19, ["1 agent", "2GB RAM", "platform A", "basic skills"]),
  inDollars("pro", "Pro", 39, ["1 agent", "4GB RAM", "all channels", "all skills", "priority support"]),
  inDollars("scale", "Scale", 79, ["3 agents", "8GB RAM", "all channels", "all skills", "analytics"])
]

/** Sold by sales only, in pounds per month. */
export const enterpriseAddOns: ReadonlyArray<{ readonly name: string; readonly price: number }> = [
  { name: "Audit Logs", price: 199 },
  { name: "Slack Integration", price: 149 },
  { name: "Salesforce-style CRM Connector", price: 349 },
  { name: "API Access", price: 249 },
  { name: "Custom Integration", price: 499 },
  { name: "Dedicated Account Manager", price: 399 }
]

/** Sold by sales only, in pounds per month. */
export const enterpriseSuite = {
  name: "Full Enterprise Suite",
  price: 4999,
  features: [
    "every add-on",
    "unlimited agents with hierarchical delegation",
    "SSO/SAML and RBAC",
    "credential isolation",
    "audit logging",
    "prebuilt connectors",
    "tool framework",
    "hardware-agnostic deployment",
    "24/7 priority support with SLA",
    "a mission-control dashboard"
  ]
} as const
