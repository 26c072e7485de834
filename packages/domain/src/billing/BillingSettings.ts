import { Context } from "effect"
import type { Credits } from "../shared/Money.ts"
import type { PurchasedItem } from "./events/PurchasedItem.ts"

/** Prices configured by the operator at the card processor. */
export class BillingSettings extends Context.Tag("@berth/BillingSettings")<
  BillingSettings,
  {
    /** Items sold, by price id. */
    readonly prices: ReadonlyMap<string, PurchasedItem>
    readonly hasCardProcessor: boolean
    /** True in development without a card processor: users select plans without payment. */
    readonly offersPlansWithoutPayment: boolean
  }
>() {}

export const findCreditPrices = (prices: ReadonlyMap<string, PurchasedItem>): ReadonlyMap<string, Credits> =>
  new Map([...prices].flatMap(([id, item]) => (item._tag === "Credits" ? [[id, item.credits] as const] : [])))
