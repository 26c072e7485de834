import { Effect, Option } from "effect"
import { Admins } from "../accounts/Admins.ts"
import type { User } from "../accounts/User.ts"
import { adminEntitlements, entitlementsOf, type PlanId } from "./Plan.ts"
import { allFeatures, featuresOf, type PlanFeatures } from "./PlanFeatures.ts"
import { type Subscription, SubscriptionRepository } from "./Subscription.ts"

export interface Allowance {
  readonly plan: PlanId
  /** Whether the user may provision at all: an active subscription, or an administrator. */
  readonly mayProvision: boolean
  readonly agents: number
  readonly memoryMb: number
  readonly storageMb: number
  readonly features: PlanFeatures
}

/** What a user may have, from who he is and what he pays for. */
export const allowanceOf = (isAdmin: boolean, subscription: Option.Option<Subscription>): Allowance => {
  const active = Option.filter(subscription, ({ status }) => status === "active")
  const plan = Option.match(active, { onNone: () => "free" as const, onSome: (subscribed) => subscribed.plan })
  const { agents, memoryMb, storageMb } = entitlementsOf(plan)
  return isAdmin
    ? { plan, mayProvision: true, ...adminEntitlements, features: allFeatures }
    : { plan, mayProvision: Option.isSome(active), agents, memoryMb, storageMb, features: featuresOf(plan) }
}

export class Allowances extends Effect.Service<Allowances>()("@berth/Allowances", {
  effect: Effect.gen(function* () {
    const admins = yield* Admins
    const subscriptions = yield* SubscriptionRepository
    const of = Effect.fn("Allowances.of")(function* (user: User) {
      return allowanceOf(admins.includes(user), yield* subscriptions.find(user.id))
    })
    /** How the user's subscription stands; none for who never had one. */
    const statusOf = Effect.fn("Allowances.statusOf")(function* (user: User) {
      return Option.map(yield* subscriptions.find(user.id), ({ status }) => status)
    })
    return { of, statusOf }
  })
}) {}
