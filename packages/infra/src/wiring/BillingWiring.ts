import { BillingSettings } from "@berth/domain/billing/BillingSettings"
import { CardEventSecret } from "@berth/domain/billing/events/CardEventInbox"
import { PurchasedItem } from "@berth/domain/billing/events/PurchasedItem"
import { Credits } from "@berth/domain/shared/Money"
import { PlanId } from "@berth/domain/shared/PlanId"
import { Layer, Option, Record } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import * as StripeCardProcessor from "../stripe/StripeCardProcessor.ts"
import type { StripePriceIds } from "../stripe/StripePrices.ts"

const readPriceIds = ({ cards }: Settings): StripePriceIds => ({
  plans: Record.map(cards.planPrices, Option.getOrUndefined),
  storage: Option.getOrUndefined(cards.storagePrice)
})

/** Configured items, by price id. */
export const readPrices = ({ cards }: Pick<Settings, "cards">): ReadonlyMap<string, PurchasedItem> =>
  new Map<string, PurchasedItem>([
    ...PlanId.literals.flatMap((plan) => {
      const id = plan === "free" || plan === "enterprise" ? Option.none() : cards.planPrices[plan]
      return Option.match(id, { onNone: () => [], onSome: (price) => [[price, PurchasedItem.Plan({ plan })] as const] })
    }),
    ...Option.match(cards.storagePrice, {
      onNone: () => [],
      onSome: (price) => [[price, PurchasedItem.Storage()] as const]
    }),
    ...[...cards.creditPrices].map(
      ([price, credits]) => [price, PurchasedItem.Credits({ credits: Credits(credits) })] as const
    )
  ])

export const readBillingSettings = (
  settings: Pick<Settings, "cards" | "cardProcessor" | "environment">
): BillingSettings["Type"] => ({
  prices: readPrices(settings),
  hasCardProcessor: Option.isSome(settings.cardProcessor.secretKey),
  offersPlansWithoutPayment: settings.environment === "development" && Option.isNone(settings.cardProcessor.secretKey)
})

/** Card processor, if its key is configured, and the operator's prices. */
export const fromSettings = (settings: Settings) =>
  Layer.merge(
    Layer.succeed(BillingSettings, readBillingSettings(settings)),
    Option.match(settings.cardProcessor.secretKey, {
      onNone: () => StripeCardProcessor.layerNotConfigured,
      onSome: (secretKey) =>
        StripeCardProcessor.layer({ secretKey, apiUrl: settings.cardProcessor.apiUrl, prices: readPriceIds(settings) })
    })
  )

/** Secret that signs card events. */
export const secretFromSettings = ({ cards }: Pick<Settings, "cards">) =>
  Layer.succeed(CardEventSecret, cards.webhookSecret)
