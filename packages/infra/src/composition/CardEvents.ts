import { Bought, CardPrices } from "@berth/domain/billing/events/Bought"
import { PlanId } from "@berth/domain/billing/Plan"
import { Layer, Option } from "effect"
import * as CardEventSignatures from "../cards/CardEventSignatures.ts"
import type { Settings } from "../configuration/Settings.ts"

/** What the prices that the operator has set are for, by their ids. */
export const boughtByPrice = ({ cards }: Pick<Settings, "cards">): ReadonlyMap<string, Bought> =>
  new Map<string, Bought>([
    ...PlanId.literals.flatMap((plan) => {
      const id = plan === "free" || plan === "enterprise" ? Option.none() : cards.planPrices[plan]
      return Option.match(id, { onNone: () => [], onSome: (price) => [[price, Bought.Plan({ plan })] as const] })
    }),
    ...Option.match(cards.storagePrice, { onNone: () => [], onSome: (price) => [[price, Bought.Storage()] as const] }),
    ...[...cards.creditPrices].map(([price, credits]) => [price, Bought.Credits({ credits })] as const)
  ])

/** For who applies events: what was bought. */
export const pricesFromSettings = (settings: Settings) => Layer.succeed(CardPrices, boughtByPrice(settings))

/** For who receives them: who sent them. */
export const signaturesFromSettings = ({ cards }: Settings) => CardEventSignatures.layer(cards.webhookSecret)
