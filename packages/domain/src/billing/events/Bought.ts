import { Array, Context, Data, Option, Schema } from "effect"
import { PlanId } from "../Plan.ts"
import { billingPlans, checkoutPlans } from "../PlanCatalogue.ts"

/** What somebody has bought by card. */
export type Bought = Data.TaggedEnum<{
  readonly Plan: { readonly plan: PlanId }
  readonly Credits: { readonly credits: number }
  readonly Storage: object
}>
export const Bought = Data.taggedEnum<Bought>()

/** What the prices at the card processor are for, by their ids: as the operator has set them. */
export class CardPrices extends Context.Tag("@berth/CardPrices")<CardPrices, ReadonlyMap<string, Bought>>() {}

/** A price as an event shows it. */
export interface ShownPrice {
  readonly id: Option.Option<string>
  /** In the currency's smallest units: pence, cents. */
  readonly amount: Option.Option<number>
  /** Three letters, lower case. */
  readonly currency: Option.Option<string>
}

export interface BoughtSigns {
  /** What our own checkouts write on what is bought: `kind`, `plan`, `credits`. */
  readonly metadata: Readonly<Record<string, string>>
  readonly prices: ReadonlyArray<ShownPrice>
  /** Whether it is paid again every month. */
  readonly recurs: boolean
}

const isPlan = Schema.is(PlanId)

const planNamed = (name: string | undefined): Option.Option<Bought> =>
  name !== undefined && isPlan(name) && name !== "free" ? Option.some(Bought.Plan({ plan: name })) : Option.none()

const creditsNamed = (text: string | undefined): Option.Option<Bought> => {
  const credits = Number(text)
  return text !== undefined && /^\d{1,7}(\.\d{1,2})?$/.test(text) && credits > 0
    ? Option.some(Bought.Credits({ credits }))
    : Option.none()
}

const byMetadata = ({ metadata, recurs }: BoughtSigns): Option.Option<Bought> => {
  const { credits, kind, plan } = metadata
  if (kind === "plan") return planNamed(plan)
  if (kind === "credits") return creditsNamed(credits)
  if (kind === "storage") return Option.some(Bought.Storage())
  return Option.orElse(planNamed(plan), () => (recurs ? Option.none<Bought>() : creditsNamed(credits)))
}

/** Amounts that one thing alone costs a month. Pounds and dollars: 39 is storage in one and a plan in the other. */
const monthly: ReadonlyMap<string, Bought> = new Map<string, Bought>([
  ...[...checkoutPlans, ...billingPlans].map(
    ({ currency, id, price }) => [`${price * 100} ${currency.toLowerCase()}`, Bought.Plan({ plan: id })] as const
  ),
  ["3900 gbp", Bought.Storage()]
])
/** And once: the credit packs. */
const once: ReadonlyMap<string, Bought> = new Map<string, Bought>(
  [5, 15, 30].map((credits) => [`${credits * 100} usd`, Bought.Credits({ credits })] as const)
)

const byAmount =
  (recurs: boolean) =>
  ({ amount, currency }: ShownPrice): Option.Option<Bought> =>
    Option.flatMapNullable(Option.all([amount, currency]), ([units, unit]) =>
      (recurs ? monthly : once).get(`${units} ${unit.toLowerCase()}`)
    )

/**
 * What was bought: by the id of its price, which is what is charged; else by what our checkout wrote on it; else by the amount,
 * where one thing alone costs that. None when nothing says.
 */
export const recognise = (signs: BoughtSigns, known: ReadonlyMap<string, Bought>): Option.Option<Bought> => {
  const byId = ({ id }: ShownPrice) => Option.flatMapNullable(id, (named) => known.get(named))
  return Option.firstSomeOf([
    Array.findFirst(signs.prices, byId),
    byMetadata(signs),
    Array.findFirst(signs.prices, byAmount(signs.recurs))
  ])
}
