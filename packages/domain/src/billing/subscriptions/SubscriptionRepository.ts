import { Context, type DateTime, type Effect, type Option } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import type { Subscription } from "./Subscription.ts"

export interface CardSubscriptionTerms {
  readonly customerId: string
  readonly subscriptionId: string
  readonly currentPeriodEnd: Option.Option<DateTime.Utc>
  /** Creation time of the newest event about it. */
  readonly lastEventAt: DateTime.Utc
}

export class SubscriptionRepository extends Context.Tag("@berth/SubscriptionRepository")<
  SubscriptionRepository,
  {
    readonly find: (userId: UserId) => Effect.Effect<Option.Option<Subscription>>
    /** Saves a subscription without a card. Updates the user's plan in the same statement. */
    readonly save: (subscription: Subscription) => Effect.Effect<void>
    /** None without a card subscription. */
    readonly findTerms: (userId: UserId) => Effect.Effect<Option.Option<CardSubscriptionTerms>>
    /** Saves a card subscription. Updates the user's plan in the same statement. */
    readonly saveWithTerms: (subscription: Subscription, terms: CardSubscriptionTerms) => Effect.Effect<void>
  }
>() {}
