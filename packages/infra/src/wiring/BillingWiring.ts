import { CreditPrices } from "@berth/domain/billing/credits/CreditPrices"
import { Layer, Option } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import * as StripeCardProcessor from "../stripe/StripeCardProcessor.ts"
import type { StripePriceIds } from "../stripe/StripePrices.ts"

const readPriceIds = ({ cards }: Settings): StripePriceIds => {
  const { collective, label, network, pro, scale, solo, starter } = cards.planPrices
  const id = (price: Option.Option<string>) => Option.getOrUndefined(price)
  return {
    plans: {
      solo: id(solo),
      collective: id(collective),
      label: id(label),
      network: id(network),
      starter: id(starter),
      pro: id(pro),
      scale: id(scale)
    },
    storage: id(cards.storagePrice)
  }
}

/** The card processor, when `STRIPE_SECRET_KEY` is set. */
export const processorFromSettings = (settings: Settings) =>
  Option.match(settings.cardProcessor.secretKey, {
    onNone: () => StripeCardProcessor.layerNotConfigured,
    onSome: (secretKey) =>
      StripeCardProcessor.layer({ secretKey, apiUrl: settings.cardProcessor.apiUrl, prices: readPriceIds(settings) })
  })

export const fromSettings = (settings: Settings) =>
  Layer.merge(processorFromSettings(settings), Layer.succeed(CreditPrices, settings.cards.creditPrices))
