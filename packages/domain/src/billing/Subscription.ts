import { Context, type Effect, type Option, Schema } from "effect"
import { UserId } from "../accounts/User.ts"
import { PlanId } from "./Plan.ts"

export const SubscriptionStatus = Schema.Literal("active", "past_due", "canceled")
export type SubscriptionStatus = typeof SubscriptionStatus.Type

/** What a user pays for. Billing writes it, provisioning and charging read it. */
export const Subscription = Schema.Struct({ userId: UserId, plan: PlanId, status: SubscriptionStatus })
export type Subscription = typeof Subscription.Type

export class SubscriptionRepository extends Context.Tag("@berth/SubscriptionRepository")<
  SubscriptionRepository,
  {
    readonly find: (userId: UserId) => Effect.Effect<Option.Option<Subscription>>
    readonly save: (subscription: Subscription) => Effect.Effect<void>
  }
>() {}
