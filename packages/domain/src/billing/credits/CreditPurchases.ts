import { Context, type Effect, Option } from "effect"
import type { Currency } from "../../shared/Money.ts"
import type { Reversal } from "../Reversal.ts"
import type { UserId } from "../../shared/UserId.ts"

/**
 * `purchase`: credits for money. `grant`: credits for nothing. `subscription`: a month of a plan or of storage, which
 * brings no credits and is written down for the history alone.
 */
export type CreditBookingKind = "purchase" | "grant" | "subscription"

export interface CreditBooking {
  readonly userId: UserId
  /** One credit is 1 USD and a hundred units; hundredths are kept. */
  readonly credits: number
  /** What was paid for, in the processor's words: the id of a checkout session, payment intent or invoice. */
  readonly cause: string
  /** What was paid in the currency's smallest unit (cents, pence), as card processors count; 0 for a grant. */
  readonly amount: number
  readonly currency: Currency
  readonly kind: CreditBookingKind
  /** What the history calls it, for example "Pro, a month". Without one it is told by the kind. */
  readonly description?: string
}

/** `unknown-user`: nobody has this id (any more), and nothing was written. */
export type CreditBookingOutcome = "booked" | "booked-before" | "unknown-user"
/** `kept`: no purchase of this payment is booked yet; the reversal applies when it is. */
export type CreditReversalOutcome = "reversed" | "reversed-before" | "kept"

/**
 * Credits that come and go by what happens to money. A cause counts once, however often and in whatever order it is told
 * of: booked and reversed, in either order, leaves the credits as they were. Both join the running transaction.
 *
 * What a reversal takes back may have been spent. The balance then goes below zero: it is owed, nothing is paid from
 * it, and what comes in later makes up for it first.
 */
export class CreditPurchases extends Context.Tag("@berth/CreditPurchases")<
  CreditPurchases,
  {
    readonly book: (booking: CreditBooking) => Effect.Effect<CreditBookingOutcome>
    /** Takes credits back in proportion to the money that went back, or gives them back once a dispute is won. Idempotent. */
    readonly reverse: (reversal: Reversal) => Effect.Effect<CreditReversalOutcome>
  }
>() {}

/** What the history calls a booking that brought no words of its own. */
export const describeCreditBooking = ({ credits, description, kind }: CreditBooking): string =>
  Option.getOrElse(Option.fromNullable(description), () => {
    const amount = `${credits} ${credits === 1 ? "credit" : "credits"}`
    switch (kind) {
      case "purchase":
        return `${amount} bought`
      case "grant":
        return `${amount} given`
      case "subscription":
        return "A month of a subscription"
    }
  })
