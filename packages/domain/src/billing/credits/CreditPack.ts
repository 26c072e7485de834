import { Option } from "effect"
import type { PricedCredits } from "../checkout/Purchase.ts"
import { Credits, toMinorUnits } from "../../shared/Money.ts"

/** Credits sold through the billing API. */
export interface CreditPack {
  readonly pack: "50" | "200" | "500"
  readonly credits: Credits
  /** US dollars. */
  readonly price: number
}

export const creditPacks: ReadonlyArray<CreditPack> = [
  { pack: "50", credits: Credits(5), price: 5 },
  { pack: "200", credits: Credits(15), price: 15 },
  { pack: "500", credits: Credits(30), price: 30 }
]

export const findCreditPack = (pack: string): Option.Option<CreditPack> =>
  Option.fromNullable(creditPacks.find((sold) => sold.pack === pack))

export const makePackPurchase = ({ credits, price }: CreditPack): PricedCredits => ({
  kind: "credits",
  credits,
  price: { amount: toMinorUnits(price), currency: "USD" }
})
