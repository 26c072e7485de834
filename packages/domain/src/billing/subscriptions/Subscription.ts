import { Context, type DateTime, type Effect, type Option, Schema } from "effect"
import { PlanId } from "../../shared/PlanId.ts"
import { UserId } from "../../shared/UserId.ts"

export const SubscriptionStatus = Schema.Literal("active", "past_due", "canceled")
export type SubscriptionStatus = typeof SubscriptionStatus.Type

/** What a user pays for. Billing writes it, provisioning and charging read it. */
export const Subscription = Schema.Struct({ userId: UserId, plan: PlanId, status: SubscriptionStatus })
export type Subscription = typeof Subscription.Type

/** Where a subscription stands at the card processor. */
export interface CardSubscriptionTerms {
  readonly customerId: string
  readonly subscriptionId: string
  /** Until when it is paid. */
  readonly currentPeriodEnd: Option.Option<DateTime.Utc>
  /** When the newest event was made that told of it. */
  readonly lastEventAt: DateTime.Utc
}

export class SubscriptionRepository extends Context.Tag("@berth/SubscriptionRepository")<
  SubscriptionRepository,
  {
    readonly find: (userId: UserId) => Effect.Effect<Option.Option<Subscription>>
    readonly save: (subscription: Subscription) => Effect.Effect<void>
    /** None for a user who subscribes to nothing, or not by card. */
    readonly findTerms: (userId: UserId) => Effect.Effect<Option.Option<CardSubscriptionTerms>>
    readonly saveWithTerms: (subscription: Subscription, terms: CardSubscriptionTerms) => Effect.Effect<void>
  }
>() {}
