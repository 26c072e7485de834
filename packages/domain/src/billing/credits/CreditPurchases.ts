import { Context, type Effect, Option } from "effect"
import type { Credits, Currency, MinorUnits } from "../../shared/Money.ts"
import type { Reversal } from "../Reversal.ts"
import type { UserId } from "../../shared/UserId.ts"

/** `grant`: credits without payment. `subscription`: a paid month without credits, kept for the history. */
export type CreditBookingKind = "purchase" | "grant" | "subscription"

export interface CreditBooking {
  readonly userId: UserId
  readonly credits: Credits
  /** Processor id of the payment, invoice or checkout. */
  readonly cause: string
  /** Paid amount; 0 for a grant. */
  readonly amount: MinorUnits
  readonly currency: Currency
  readonly kind: CreditBookingKind
  /** Text of the history, for example "Pro, a month"; by kind if absent. */
  readonly description?: string
}

/** `unknown-user`: no such user, nothing was written. */
export type CreditBookingOutcome = "booked" | "booked-before" | "unknown-user"
/** `kept`: the purchase is not booked yet; the reversal applies when it is. */
export type CreditReversalOutcome = "reversed" | "reversed-before" | "kept"

/**
 * Credits gained by payments and lost by reversals. Both methods are idempotent per cause, commute, and join the running
 * transaction. Spent credits that are reversed make the balance negative, which later credits repay first.
 */
export class CreditPurchases extends Context.Tag("@berth/CreditPurchases")<
  CreditPurchases,
  {
    readonly book: (booking: CreditBooking) => Effect.Effect<CreditBookingOutcome>
    /** Takes credits back in proportion to the returned money, or restores them when a dispute is won. */
    readonly reverse: (reversal: Reversal) => Effect.Effect<CreditReversalOutcome>
  }
>() {}

export const describeCreditBooking = ({ credits, description, kind }: CreditBooking): string =>
  Option.getOrElse(Option.fromNullable(description), () => {
    const amount = `${credits} ${credits === 1 ? "credit" : "credits"}`
    switch (kind) {
      case "purchase":
        return `${amount} purchased`
      case "grant":
        return `${amount} granted`
      case "subscription":
        return "Subscription, a month"
    }
  })
