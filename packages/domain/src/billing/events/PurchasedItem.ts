import { Array, Data, Option, Schema } from "effect"
import { Credits } from "../../shared/Money.ts"
import { PlanId } from "../../shared/PlanId.ts"
import { storageUpgrade } from "../checkout/Purchase.ts"
import { creditPacks } from "../credits/CreditPack.ts"
import { billingPlans, checkoutPlans } from "../subscriptions/PlanCatalog.ts"

export type PurchasedItem = Data.TaggedEnum<{
  readonly Plan: { readonly plan: PlanId }
  readonly Credits: { readonly credits: Credits }
  readonly Storage: object
}>
export const PurchasedItem = Data.taggedEnum<PurchasedItem>()

export interface EventPrice {
  readonly id: Option.Option<string>
  /** In minor units. */
  readonly amount: Option.Option<number>
  /** Three letters, lower case. */
  readonly currency: Option.Option<string>
}

interface PurchaseEvidence {
  /** Metadata of Berth's checkouts: `kind`, `plan`, `credits`. */
  readonly metadata: Readonly<Record<string, string>>
  readonly prices: ReadonlyArray<EventPrice>
  readonly recurs: boolean
}

const isPlan = Schema.is(PlanId)

const planNamed = (name: string | undefined): Option.Option<PurchasedItem> =>
  name !== undefined && isPlan(name) && name !== "free"
    ? Option.some(PurchasedItem.Plan({ plan: name }))
    : Option.none()

const creditsNamed = (text: string | undefined): Option.Option<PurchasedItem> => {
  const credits = Credits(Number(text))
  return text !== undefined && /^\d{1,7}(\.\d{1,2})?$/.test(text) && credits > 0
    ? Option.some(PurchasedItem.Credits({ credits }))
    : Option.none()
}

const byMetadata = ({ metadata, recurs }: PurchaseEvidence): Option.Option<PurchasedItem> => {
  const { credits, kind, plan } = metadata
  if (kind === "plan") return planNamed(plan)
  if (kind === "credits") return creditsNamed(credits)
  if (kind === "storage") return Option.some(PurchasedItem.Storage())
  return Option.orElse(planNamed(plan), () => (recurs ? Option.none<PurchasedItem>() : creditsNamed(credits)))
}

/** Items by their unique monthly amount. 39 is not unique: storage in pounds, a plan in dollars. */
const monthly: ReadonlyMap<string, PurchasedItem> = new Map<string, PurchasedItem>([
  ...[...checkoutPlans, ...billingPlans].map(
    ({ currency, id, price }) => [`${price * 100} ${currency.toLowerCase()}`, PurchasedItem.Plan({ plan: id })] as const
  ),
  [`${storageUpgrade.price.amount} ${storageUpgrade.price.currency.toLowerCase()}`, PurchasedItem.Storage()]
])
/** Credit packs by amount. */
const once: ReadonlyMap<string, PurchasedItem> = new Map<string, PurchasedItem>(
  creditPacks.map(({ credits, price }) => [`${price * 100} usd`, PurchasedItem.Credits({ credits })] as const)
)

const byAmount =
  (recurs: boolean) =>
  ({ amount, currency }: EventPrice): Option.Option<PurchasedItem> =>
    Option.flatMapNullable(Option.all([amount, currency]), ([units, unit]) =>
      (recurs ? monthly : once).get(`${units} ${unit.toLowerCase()}`)
    )

/** Identifies an item by its price id, else by metadata, else by a unique amount. */
export const identifyPurchasedItem = (
  signs: PurchaseEvidence,
  known: ReadonlyMap<string, PurchasedItem>
): Option.Option<PurchasedItem> => {
  const byId = ({ id }: EventPrice) => Option.flatMapNullable(id, (named) => known.get(named))
  return Option.firstSomeOf([
    Array.findFirst(signs.prices, byId),
    byMetadata(signs),
    Array.findFirst(signs.prices, byAmount(signs.recurs))
  ])
}
