import { Schema } from "effect"
import type { CreditBooking as LedgerBooking } from "../credits/CreditPurchases.ts"
import { Credits, Currency, MinorUnits } from "../../shared/Money.ts"
import { billingPlans, checkoutPlans } from "../subscriptions/PlanCatalog.ts"
import type { CardCreditBooking } from "./CardFactApplication.ts"
import type { PaidAmount, PaidInvoice } from "./CardFact.ts"
import type { RecurringItem } from "./SubscriptionFacts.ts"
import type { UserId } from "../../shared/UserId.ts"

const isCurrency = Schema.is(Currency)

/** The amount in a currency of the ledger; other currencies are written as text. */
const moneyOf = ({ amount, currency }: PaidAmount, what: string) =>
  isCurrency(currency)
    ? { amount, currency, description: what }
    : { amount: MinorUnits(0), currency: "USD" as const, description: `${what}, paid in ${currency}` }

/** Books credits under the first id of the purchase. */
export const makeCreditBooking = ({ cause, credits, paid, userId }: CardCreditBooking): LedgerBooking => ({
  userId,
  credits,
  cause,
  kind: "purchase",
  ...moneyOf(paid, `${credits} credits`)
})

const nameOf = (sold: RecurringItem | null): string =>
  sold === "storage"
    ? "Storage, a month"
    : `${[...checkoutPlans, ...billingPlans].find(({ id }) => id === sold)?.name ?? "A subscription"}, a month`

/** Books a month of a subscription, without credits. */
export const makeMonthBooking = (invoice: PaidInvoice, userId: UserId): LedgerBooking => ({
  userId,
  credits: Credits(0),
  cause: invoice.id,
  kind: "subscription",
  ...moneyOf(invoice, nameOf(invoice.sold))
})
