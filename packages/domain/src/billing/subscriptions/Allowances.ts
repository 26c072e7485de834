import { Effect, Option } from "effect"
import { Administrators } from "../../accounts/Administrators.ts"
import type { User } from "../../shared/User.ts"
import { adminEntitlements, findEntitlements } from "./Plan.ts"
import { allFeatures, findPlanFeatures, type PlanFeatures } from "./PlanFeatures.ts"
import { findStorageGigabytes, StorageEntitlements, type StorageTier } from "../storage/StorageEntitlements.ts"
import type { Subscription } from "./Subscription.ts"
import { SubscriptionRepository } from "./SubscriptionRepository.ts"
import type { PlanId } from "../../shared/PlanId.ts"

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
export const computeAllowance = (
  isAdmin: boolean,
  subscription: Option.Option<Subscription>,
  storage: StorageTier
): Allowance => {
  const active = Option.filter(subscription, ({ status }) => status === "active")
  const plan = Option.match(active, { onNone: () => "free" as const, onSome: (subscribed) => subscribed.plan })
  const { agents, memoryMb, storageMb } = isAdmin ? adminEntitlements : findEntitlements(plan)
  return {
    plan,
    mayProvision: isAdmin || Option.isSome(active),
    agents,
    memoryMb,
    // Who has bought storage may fill it; the plan's is for the cell's own work.
    storageMb: storage === "upgraded" ? Math.max(storageMb, findStorageGigabytes(storage) * 1024) : storageMb,
    features: isAdmin ? allFeatures : findPlanFeatures(plan)
  }
}

export class Allowances extends Effect.Service<Allowances>()("@berth/Allowances", {
  effect: Effect.gen(function* () {
    const admins = yield* Administrators
    const subscriptions = yield* SubscriptionRepository
    const storage = yield* StorageEntitlements
    const find = Effect.fn("Allowances.find")(function* (user: User) {
      return computeAllowance(admins.includes(user), yield* subscriptions.find(user.id), yield* storage.find(user.id))
    })
    /** How the user's subscription stands; none for who never had one. */
    const findStatus = Effect.fn("Allowances.findStatus")(function* (user: User) {
      return Option.map(yield* subscriptions.find(user.id), ({ status }) => status)
    })
    return { find, findStatus }
  })
}) {}
