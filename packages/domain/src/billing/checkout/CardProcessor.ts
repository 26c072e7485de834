import { Context, Data, type Effect, type Option, Schema } from "effect"
import type { Currency } from "../../shared/Money.ts"
import type { PricedCredits, Purchase, SoldPlanId } from "./Purchase.ts"
import type { UserId } from "../../shared/UserId.ts"

/** A customer at the card processor; all its subscriptions have one currency. */
export const CustomerId = Schema.String.pipe(Schema.brand("CustomerId"))
export type CustomerId = typeof CustomerId.Type

export const CardSubscriptionId = Schema.String.pipe(Schema.brand("CardSubscriptionId"))
export type CardSubscriptionId = typeof CardSubscriptionId.Type

export class CardProcessorNotConfigured extends Data.TaggedError("CardProcessorNotConfigured")<object> {
  override readonly message = "No card processor is configured"
}

/**
 * The card processor's response was missing or unexpected. The outcome of a write is unknown; a repetition with the
 * same key is safe. `reason` contains no secret and no personal data.
 */
export class CardProcessorUnavailable extends Data.TaggedError("CardProcessorUnavailable")<{
  readonly reason: string
}> {
  override readonly message = `The card processor is unavailable: ${this.reason}`
}

/** The card was declined and nothing was charged. */
export class PurchaseDeclined extends Data.TaggedError("PurchaseDeclined")<{
  /** The card processor's message for the buyer. */
  readonly reason: string
  /** The bank's reason if given, for example insufficient_funds. */
  readonly declineCode: string | null
}> {
  override readonly message = this.reason
}

/** The customer was deleted at the card processor or belongs to another account. */
export class CardCustomerMissing extends Data.TaggedError("CardCustomerMissing")<{ readonly customerId: CustomerId }> {}

type CardProcessorError = CardProcessorNotConfigured | CardProcessorUnavailable

/** Writes with the same key have one effect within a day. */
interface IdempotentWrite {
  readonly idempotencyKey: string
}

export type ChargeOutcome = Data.TaggedEnum<{
  readonly Paid: { readonly paymentId: string }
  /** A bank debit that is still processing. */
  readonly UnderWay: object
  /** No saved card, or one that requires authentication. Nothing was charged. */
  readonly NeedsCheckout: object
}>
export const ChargeOutcome = Data.taggedEnum<ChargeOutcome>()

/** A charge that is paid or processing. */
export type FoundCharge = Exclude<ChargeOutcome, { readonly _tag: "NeedsCheckout" }>

/** A subscription that has not ended. */
export interface CardSubscription {
  readonly id: CardSubscriptionId
  /** Null unless purchased through one of Berth's checkouts. */
  readonly kind: "plan" | "storage" | null
  readonly plan: SoldPlanId | null
  /** False while a payment is outstanding. */
  readonly isPaid: boolean
}

/** Hosted checkouts, saved cards and subscriptions. Payments are reported by card events. */
export class CardProcessor extends Context.Tag("@berth/CardProcessor")<
  CardProcessor,
  {
    readonly createCustomer: (
      customer: { readonly userId: UserId; readonly email: string; readonly currency: Currency } & IdempotentWrite
    ) => Effect.Effect<CustomerId, CardProcessorError>
    /**
     * Creates a payment page, valid for a day. The card of a credit purchase is saved. Metadata of the checkout and of
     * the objects that it creates: `kind`, `plan`, `credits`, `userId`.
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
    /** Whether a card can be charged off-session. */
    readonly hasSavedCard: (customerId: CustomerId) => Effect.Effect<boolean, CardProcessorError>
    /** Charges the default card, else the card saved last. */
    readonly chargeSavedCard: (
      charge: {
        readonly purchase: PricedCredits
        readonly userId: UserId
        readonly customerId: CustomerId
      } & IdempotentWrite
    ) => Effect.Effect<ChargeOutcome, CardProcessorError | PurchaseDeclined>
    /** Finds the charge of `chargeSavedCard` with this key. */
    readonly findCharge: (
      charge: { readonly customerId: CustomerId } & IdempotentWrite
    ) => Effect.Effect<Option.Option<FoundCharge>, CardProcessorError>
    /** Creates a page with the customer's invoices, cards and subscriptions. */
    readonly createPortalUrl: (
      customerId: CustomerId,
      returnUrl: URL
    ) => Effect.Effect<URL, CardProcessorError | CardCustomerMissing>
    /** Subscriptions that have not ended, newest first. */
    readonly listSubscriptions: (
      customerId: CustomerId
    ) => Effect.Effect<ReadonlyArray<CardSubscription>, CardProcessorError>
    /** Expires the customer's unpaid checkouts of a kind except the one with this key. Completed checkouts stay. */
    readonly expireCheckouts: (options: {
      readonly customerId: CustomerId
      readonly kind: Purchase["kind"]
      readonly exceptKey: string | null
    }) => Effect.Effect<void, CardProcessorError>
    /**
     * Changes to a plan of the same currency at once and charges the difference; on failure nothing changes. Removes a
     * scheduled change.
     */
    readonly updateSubscription: (
      change: { readonly id: CardSubscriptionId; readonly plan: SoldPlanId } & IdempotentWrite
    ) => Effect.Effect<void, CardProcessorError | PurchaseDeclined>
    /**
     * Schedules the change to a plan of the same currency for the end of the paid period. Replaces an earlier schedule.
     */
    readonly scheduleSubscriptionChange: (
      change: { readonly id: CardSubscriptionId; readonly plan: SoldPlanId } & IdempotentWrite
    ) => Effect.Effect<void, CardProcessorError>
    /** Cancels a subscription at once. Idempotent, even for an unknown id. */
    readonly cancelSubscription: (id: CardSubscriptionId) => Effect.Effect<void, CardProcessorError>
    /** Deletes a customer with its subscriptions, cards and open checkouts. Idempotent. */
    readonly removeCustomer: (customerId: CustomerId) => Effect.Effect<void, CardProcessorError>
  }
>() {}
