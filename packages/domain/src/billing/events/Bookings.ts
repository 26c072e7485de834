import { Schema } from "effect"
import type { UserId } from "../../accounts/User.ts"
import type { Booking as LedgerBooking } from "../CreditPurchases.ts"
import { Currency } from "../Money.ts"
import { billingPlans, checkoutPlans } from "../PlanCatalogue.ts"
import type { Booking } from "./ApplyFact.ts"
import type { PaidAmount } from "./CardFact.ts"
import type { Sold } from "./SubscriptionFacts.ts"

const isCurrency = Schema.is(Currency)

/** As the books count money. What was paid in a currency that they do not keep is told in words. */
const moneyOf = ({ amount, currency }: PaidAmount, what: string) =>
  isCurrency(currency)
    ? { amount, currency, description: what }
    : { amount: 0, currency: "USD" as const, description: `${what}, paid in ${currency}` }

/** Credits, by the one name of the purchase that counts. */
export const creditsBooking = ({ cause, credits, paid, userId }: Booking): LedgerBooking => ({
  userId,
  credits,
  cause,
  kind: "purchase",
  ...moneyOf(paid, `${credits} credits`)
})

const nameOf = (sold: Sold | null): string =>
  sold === "storage"
    ? "Storage, a month"
    : `${[...checkoutPlans, ...billingPlans].find(({ id }) => id === sold)?.name ?? "A subscription"}, a month`

/** A month of what is paid for by the month, which brings no credits. */
export const monthBooking = (
  invoice: PaidAmount & { readonly id: string; readonly sold: Sold | null },
  userId: UserId
): LedgerBooking => ({
  userId,
  credits: 0,
  cause: invoice.id,
  kind: "subscription",
  ...moneyOf(invoice, nameOf(invoice.sold))
})
