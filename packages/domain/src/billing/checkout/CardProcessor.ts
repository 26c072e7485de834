import { Context, Data, type Effect, type Option, Schema } from "effect"
import type { Currency } from "../../shared/Money.ts"
import type { PricedCredits, Purchase, SoldPlanId } from "./Purchase.ts"
import type { UserId } from "../../shared/UserId.ts"

/** A user as the card processor knows him; there he has one currency for all that is paid monthly. */
export const CustomerId = Schema.String.pipe(Schema.brand("CustomerId"))
export type CustomerId = typeof CustomerId.Type

/** A subscription's name at the card processor. */
export const CardSubscriptionId = Schema.String.pipe(Schema.brand("CardSubscriptionId"))
export type CardSubscriptionId = typeof CardSubscriptionId.Type

/** Nothing can be bought here: the operator has set up no card processor. */
export class CardProcessorNotConfigured extends Data.TaggedError("CardProcessorNotConfigured")<object> {
  override get message() {
    return "No card processor is set up"
  }
}

/**
 * The card processor did not answer, or not with what was asked for. Whether a write came about is not known; the same one with
 * the same key comes about once. `reason` names no key and nobody's data.
 */
export class CardProcessorUnavailable extends Data.TaggedError("CardProcessorUnavailable")<{
  readonly reason: string
}> {
  override get message() {
    return `The card processor did not do it: ${this.reason}`
  }
}

/** The card was declined; nothing was charged. */
export class PurchaseDeclined extends Data.TaggedError("PurchaseDeclined")<{
  /** A sentence for the buyer, by the card processor. */
  readonly reason: string
  /** The bank's reason, for example insufficient_funds, where it gave one. */
  readonly declineCode: string | null
}> {
  override get message() {
    return this.reason
  }
}

/** The customer was deleted at the card processor, or never was one of this account. */
export class CardCustomerMissing extends Data.TaggedError("CardCustomerMissing")<{ readonly customerId: CustomerId }> {}

export type CardProcessorError = CardProcessorNotConfigured | CardProcessorUnavailable

/** A write that may be asked for again with the same key, for at least a day, and comes about once. */
export interface IdempotentWrite {
  readonly idempotencyKey: string
}

export type ChargeOutcome = Data.TaggedEnum<{
  readonly Paid: { readonly paymentId: string }
  /** A bank debit that the processor has not decided yet. */
  readonly UnderWay: object
  /** There is no saved card, or it wants its owner in front of it. Nothing was charged. */
  readonly NeedsCheckout: object
}>
export const ChargeOutcome = Data.taggedEnum<ChargeOutcome>()

/** A charge that was paid, or that may still be. */
export type FoundCharge = Exclude<ChargeOutcome, { readonly _tag: "NeedsCheckout" }>

/** A subscription that has not ended. */
export interface CardSubscription {
  readonly id: CardSubscriptionId
  /** What was bought; null where it was not bought here. */
  readonly kind: "plan" | "storage" | null
  readonly plan: SoldPlanId | null
  /** Whether it is paid for; one that is not waits for money. */
  readonly isPaid: boolean
}

/** Whoever takes cards: hosted checkouts, saved cards, subscriptions. What was paid for comes back as events. */
export class CardProcessor extends Context.Tag("@berth/CardProcessor")<
  CardProcessor,
  {
    /** Makes somebody known. */
    readonly createCustomer: (
      customer: { readonly userId: UserId; readonly email: string; readonly currency: Currency } & IdempotentWrite
    ) => Effect.Effect<CustomerId, CardProcessorError>
    /**
     * A page on which the purchase is paid, good for a day. A card that credits are paid by is saved for the next time. The
     * purchase tells its `kind`, `plan`, `credits` and `userId` in the metadata of all that comes of it.
     */
    readonly createCheckout: (
      checkout: {
        readonly purchase: Purchase
        readonly userId: UserId
        readonly customerId: CustomerId
        readonly successUrl: URL
        readonly cancelUrl: URL
      } & IdempotentWrite
    ) => Effect.Effect<URL, CardProcessorError | CardCustomerMissing>
    /** Whether there is a card to charge without its owner. */
    readonly hasSavedCard: (customerId: CustomerId) => Effect.Effect<boolean, CardProcessorError>
    /** Charges the customer's default card, else the one that was saved last. */
    readonly chargeSavedCard: (
      charge: {
        readonly purchase: PricedCredits
        readonly userId: UserId
        readonly customerId: CustomerId
      } & IdempotentWrite
    ) => Effect.Effect<ChargeOutcome, CardProcessorError | PurchaseDeclined>
    /** The charge that `chargeSaved` made under this key; none when it has charged nothing. */
    readonly findCharge: (
      charge: { readonly customerId: CustomerId } & IdempotentWrite
    ) => Effect.Effect<Option.Option<FoundCharge>, CardProcessorError>
    /** A page on which the customer sees invoices, changes his card and cancels. */
    readonly createPortalUrl: (
      customerId: CustomerId,
      returnUrl: URL
    ) => Effect.Effect<URL, CardProcessorError | CardCustomerMissing>
    /** Those that have not ended, newest first. */
    readonly listSubscriptions: (
      customerId: CustomerId
    ) => Effect.Effect<ReadonlyArray<CardSubscription>, CardProcessorError>
    /** Changes the plan at once; the rest of the month is settled at once too, or nothing changes. Of the same currency only. */
    readonly updateSubscription: (
      change: { readonly id: CardSubscriptionId; readonly plan: SoldPlanId } & IdempotentWrite
    ) => Effect.Effect<void, CardProcessorError | PurchaseDeclined>
    /** Ends it at once. One that has ended, or never was, is as good. */
    readonly cancelSubscription: (id: CardSubscriptionId) => Effect.Effect<void, CardProcessorError>
    /** Ends the customer's subscriptions, forgets his cards and lets nothing more be paid in his name. Again is as good. */
    readonly removeCustomer: (customerId: CustomerId) => Effect.Effect<void, CardProcessorError>
  }
>() {}
