import type { Option } from "effect"
import type { Email } from "../../shared/Email.ts"
import type { PurchaseAttemptId } from "../checkout/PurchaseAttempts.ts"
import type { EventMoment, RecurringItem, SubscriptionFacts } from "./SubscriptionFacts.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Credits that were paid for. */
export interface CreditPurchase {
  /** Every name that the purchase goes by (payment, invoice, checkout): whoever tells of it knows one of them at least. */
  readonly names: readonly [string, ...ReadonlyArray<string>]
  readonly credits: number
  readonly paid: PaidAmount
}

export interface PaidAmount {
  /** In the currency's smallest units. */
  readonly amount: number
  /** Three letters, upper case. */
  readonly currency: string
}

/** What an event says, in our words. */
export interface CardFact {
  readonly moment: EventMoment
  /** Who pays: a customer at the card processor, or what was paid for by somebody who is none. */
  readonly payer: string
  /** Ids of users that our checkouts wrote on it. */
  readonly userIds: ReadonlyArray<UserId>
  readonly email: Option.Option<Email>
  readonly subscription: Option.Option<{ readonly id: string; readonly facts: SubscriptionFacts }>
  readonly credits: Option.Option<CreditPurchase>
  /** The invoice of a subscription that was paid. */
  readonly invoice: Option.Option<PaidAmount & { readonly id: string; readonly sold: RecurringItem | null }>
  /** The attempt to buy whose delayed payment failed. */
  readonly failedAttempt: Option.Option<PurchaseAttemptId>
  /** Something was paid for, and nothing says what. */
  readonly isUnclear: boolean
}
