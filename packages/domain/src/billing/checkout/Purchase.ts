import { Schema } from "effect"
import { type Credits, type Currency, MinorUnits, toMinorUnits } from "../../shared/Money.ts"
import { billingPlans, checkoutPlans, type SoldPlan } from "../subscriptions/PlanCatalog.ts"

/** Plans sold through checkout links, in pounds. */
export const CheckoutPlanId = Schema.Literal("solo", "collective", "label", "network")
export type CheckoutPlanId = typeof CheckoutPlanId.Type
/** Plans sold through the billing API, in dollars. */
export const BillingPlanId = Schema.Literal("starter", "pro", "scale")
export type BillingPlanId = typeof BillingPlanId.Type
export type SoldPlanId = CheckoutPlanId | BillingPlanId

export interface MoneyAmount {
  readonly amount: MinorUnits
  readonly currency: Currency
}

export const storageUpgrade = {
  name: "Storage, 50 GiB",
  price: { amount: MinorUnits(3_900), currency: "GBP" }
} as const

/** A monthly plan, monthly storage, or credits paid once. */
export type Purchase =
  | { readonly kind: "plan"; readonly plan: SoldPlanId }
  /** `price` is an amount, or a price id of the card processor. */
  | { readonly kind: "credits"; readonly credits: Credits; readonly price: MoneyAmount | string }
  | { readonly kind: "storage" }

/** Credits for an amount that a saved card is charged. */
export interface PricedCredits {
  readonly kind: "credits"
  readonly credits: Credits
  readonly price: MoneyAmount
}

export const findSoldPlan = (id: SoldPlanId): SoldPlan => {
  const found = [...checkoutPlans, ...billingPlans].find((plan) => plan.id === id)
  if (found === undefined) throw new Error(`The catalog lacks the plan ${id}`)
  return found
}

export const findPlanPrice = (id: SoldPlanId): MoneyAmount => {
  const { currency, price } = findSoldPlan(id)
  return { amount: toMinorUnits(price), currency }
}

export const findPurchaseCurrency = (purchase: Purchase): Currency => {
  if (purchase.kind === "plan") return findSoldPlan(purchase.plan).currency
  if (purchase.kind === "storage") return storageUpgrade.price.currency
  return typeof purchase.price === "string" ? "USD" : purchase.price.currency
}

/** Equal for the same item at the same price. */
export const makePurchaseKey = (purchase: Purchase): string => {
  if (purchase.kind === "plan") return `plan:${purchase.plan}`
  if (purchase.kind === "storage") return "storage"
  const { credits, price } = purchase
  return `credits:${credits}:${typeof price === "string" ? price : `${price.amount}${price.currency}`}`
}
