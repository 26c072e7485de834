import {
  findPlanPrice,
  type Purchase,
  findSoldPlan,
  type SoldPlanId,
  storageUpgrade
} from "@berth/domain/billing/checkout/Purchase"
import type { Credits, MinorUnits } from "@berth/domain/shared/Money"
import type Stripe from "stripe"

/** Price ids at the processor. An item without one is priced inline. */
export interface StripePriceIds {
  readonly plans: { readonly [plan in SoldPlanId]?: string | undefined }
  readonly storage?: string | undefined
}

export const productNames = {
  plan: (plan: SoldPlanId) => `Berth ${findSoldPlan(plan).name}`,
  storage: `Berth ${storageUpgrade.name}`,
  credits: (credits: Credits) => `Berth credits: ${credits}`
}

type PriceData = Stripe.Checkout.SessionCreateParams.LineItem.PriceData
const makePriceData = (
  name: string,
  { amount, currency }: { readonly amount: MinorUnits; readonly currency: string },
  recurs: boolean
): PriceData => ({
  currency: currency.toLowerCase(),
  unit_amount: amount,
  product_data: { name },
  ...(recurs ? { recurring: { interval: "month" as const } } : {})
})

export const makeLineItem = (
  prices: StripePriceIds,
  purchase: Purchase
): Stripe.Checkout.SessionCreateParams.LineItem => {
  const lineItem = (id: string | undefined, data: () => PriceData) =>
    id === undefined ? { quantity: 1, price_data: data() } : { quantity: 1, price: id }
  switch (purchase.kind) {
    case "plan":
      return lineItem(prices.plans[purchase.plan], () =>
        makePriceData(productNames.plan(purchase.plan), findPlanPrice(purchase.plan), true)
      )
    case "storage":
      return lineItem(prices.storage, () => makePriceData(productNames.storage, storageUpgrade.price, true))
    case "credits": {
      const { credits, price } = purchase
      return typeof price === "string"
        ? { quantity: 1, price }
        : { quantity: 1, price_data: makePriceData(productNames.credits(credits), price, false) }
    }
  }
}
