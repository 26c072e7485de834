import { CardEventSecret } from "@berth/domain/billing/events/CardEventInbox"
import { PurchasedItem, CardPrices } from "@berth/domain/billing/events/PurchasedItem"
import { Layer, Option } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import { PlanId } from "@berth/domain/shared/PlanId"

/** The items sold by the configured prices, by price id. */
export const readPurchasedItems = ({ cards }: Pick<Settings, "cards">): ReadonlyMap<string, PurchasedItem> =>
  new Map<string, PurchasedItem>([
    ...PlanId.literals.flatMap((plan) => {
      const id = plan === "free" || plan === "enterprise" ? Option.none() : cards.planPrices[plan]
      return Option.match(id, { onNone: () => [], onSome: (price) => [[price, PurchasedItem.Plan({ plan })] as const] })
    }),
    ...Option.match(cards.storagePrice, {
      onNone: () => [],
      onSome: (price) => [[price, PurchasedItem.Storage()] as const]
    }),
    ...[...cards.creditPrices].map(([price, credits]) => [price, PurchasedItem.Credits({ credits })] as const)
  ])

export const pricesFromSettings = (settings: Settings) => Layer.succeed(CardPrices, readPurchasedItems(settings))

export const secretFromSettings = ({ cards }: Settings) => Layer.succeed(CardEventSecret, cards.webhookSecret)
