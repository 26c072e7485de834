import { Effect, Option } from "effect"
import { Admins } from "../accounts/Admins.ts"
import type { User } from "../accounts/User.ts"
import { adminEntitlements, entitlementsOf, type PlanId } from "./Plan.ts"
import { allFeatures, featuresOf, type PlanFeatures } from "./PlanFeatures.ts"
import { gigabytesOf, StorageEntitlements, type StorageTier } from "./StorageEntitlements.ts"
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
export const allowanceOf = (
  isAdmin: boolean,
  subscription: Option.Option<Subscription>,
  storage: StorageTier
): Allowance => {
  const active = Option.filter(subscription, ({ status }) => status === "active")
  const plan = Option.match(active, { onNone: () => "free" as const, onSome: (subscribed) => subscribed.plan })
  const { agents, memoryMb, storageMb } = isAdmin ? adminEntitlements : entitlementsOf(plan)
  return {
    plan,
    mayProvision: isAdmin || Option.isSome(active),
    agents,
    memoryMb,
    // Who has bought storage may fill it; the plan's is for the cell's own work.
    storageMb: storage === "upgraded" ? Math.max(storageMb, gigabytesOf(storage) * 1024) : storageMb,
    features: isAdmin ? allFeatures : featuresOf(plan)
  }
}

export class Allowances extends Effect.Service<Allowances>()("@berth/Allowances", {
  effect: Effect.gen(function* () {
    const admins = yield* Admins
    const subscriptions = yield* SubscriptionRepository
    const storage = yield* StorageEntitlements
    const of = Effect.fn("Allowances.of")(function* (user: User) {
      return allowanceOf(admins.includes(user), yield* subscriptions.find(user.id), yield* storage.of(user.id))
    })
    /** How the user's subscription stands; none for who never had one. */
    const statusOf = Effect.fn("Allowances.statusOf")(function* (user: User) {
      return Option.map(yield* subscriptions.find(user.id), ({ status }) => status)
    })
    return { of, statusOf }
  })
}) {}
