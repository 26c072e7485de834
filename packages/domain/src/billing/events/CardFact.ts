import type { Option } from "effect"
import type { Email } from "../../shared/Email.ts"
import type { Credits, MinorUnits } from "../../shared/Money.ts"
import type { PurchaseAttemptId } from "../checkout/PurchaseAttempts.ts"
import type { EventMoment, RecurringItem, SubscriptionFacts } from "./SubscriptionFacts.ts"
import type { UserId } from "../../shared/UserId.ts"

export interface CreditPurchase {
  /** Processor ids of payment, invoice and checkout; every event of the purchase has at least one. */
  readonly names: readonly [string, ...ReadonlyArray<string>]
  readonly credits: Credits
  readonly paid: PaidAmount
}

export interface PaidAmount {
  readonly amount: MinorUnits
  /** Three letters, upper case. */
  readonly currency: string
}

export interface PaidInvoice extends PaidAmount {
  readonly id: string
  /** Processor ids of its payments, under which refunds and disputes name it. */
  readonly payments: ReadonlyArray<string>
  readonly sold: RecurringItem | null
}

/** Content of a purchase event. */
export interface CardFact {
  readonly moment: EventMoment
  /** Id of the customer; of the purchase if it has no customer. */
  readonly payer: string
  /** User ids from the metadata of Berth's checkouts. */
  readonly userIds: ReadonlyArray<UserId>
  readonly email: Option.Option<Email>
  readonly subscription: Option.Option<{ readonly id: string; readonly facts: SubscriptionFacts }>
  readonly credits: Option.Option<CreditPurchase>
  readonly invoice: Option.Option<PaidInvoice>
  /** Attempt whose delayed payment failed. */
  readonly failedAttempt: Option.Option<PurchaseAttemptId>
  /** Whether the item of a payment is unknown. */
  readonly isUnclear: boolean
}
