import { Context, type Effect, Option } from "effect"
import type { Credits, Currency, MinorUnits } from "../../shared/Money.ts"
import type { Reversal } from "../Reversal.ts"
import type { UserId } from "../../shared/UserId.ts"

/** `grant`: credits without payment. `subscription`: a paid month without credits, kept for the history. */
type CreditBookingKind = "purchase" | "grant" | "subscription"

export interface CreditBooking {
  readonly userId: UserId
  readonly credits: Credits
  /** Processor id of the payment, invoice or checkout. */
  readonly cause: string
  /** Paid amount; 0 for a grant. */
  readonly amount: MinorUnits
  readonly currency: Currency
  readonly kind: CreditBookingKind
  /** Text in the history, for example "Pro, a month"; default: by kind. */
  readonly description?: string
}

/** `unknown-user`: the user does not exist, and nothing was written. */
export type CreditBookingOutcome = "booked" | "booked-before" | "unknown-user"
/** `kept`: the purchase is not booked yet; its booking applies the reversal. */
export type CreditReversalOutcome = "reversed" | "reversed-before" | "kept"

/**
 * Credits gained by payments and lost by reversals. Both methods are idempotent per cause, commute, and join the
 * running transaction. The reversal of spent credits makes the balance negative; later credits repay it first.
 */
export class CreditPurchases extends Context.Tag("@berth/CreditPurchases")<
  CreditPurchases,
  {
    readonly book: (booking: CreditBooking) => Effect.Effect<CreditBookingOutcome>
    /** Removes credits in proportion to the returned money; restores them when a dispute is won. */
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
