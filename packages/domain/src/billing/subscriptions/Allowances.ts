import { Effect, Option } from "effect"
import { Administrators } from "../../accounts/Administrators.ts"
import type { User } from "../../shared/User.ts"
import { isBillingExempt } from "../BillingExemption.ts"
import { adminEntitlements, findEntitlements } from "./Plan.ts"
import { allFeatures, findPlanFeatures, type PlanFeatures } from "./PlanFeatures.ts"
import { findStorageGigabytes, StorageEntitlements, type StorageTier } from "../storage/StorageEntitlements.ts"
import type { Subscription } from "./Subscription.ts"
import { SubscriptionRepository } from "./SubscriptionRepository.ts"
import type { PlanId } from "../../shared/PlanId.ts"

export interface Allowance {
  readonly plan: PlanId
  /** Requires an active subscription or a billing exemption. */
  readonly mayProvision: boolean
  readonly agents: number
  readonly memoryMb: number
  readonly cpus: number
  readonly storageMb: number
  readonly features: PlanFeatures
}

export const computeAllowance = (
  isExempt: boolean,
  subscription: Option.Option<Subscription>,
  storage: StorageTier
): Allowance => {
  const active = Option.filter(subscription, ({ status }) => status === "active")
  const plan = Option.match(active, { onNone: () => "free" as const, onSome: (subscribed) => subscribed.plan })
  const { agents, cpus, memoryMb, storageMb } = isExempt ? adminEntitlements : findEntitlements(plan)
  return {
    plan,
    mayProvision: isExempt || Option.isSome(active),
    agents,
    memoryMb,
    cpus,
    // The upgrade applies to the account's files; otherwise the plan limits the instance directory.
    storageMb: storage === "upgraded" ? Math.max(storageMb, findStorageGigabytes(storage) * 1024) : storageMb,
    features: isExempt ? allFeatures : findPlanFeatures(plan)
  }
}

export class Allowances extends Effect.Service<Allowances>()("@berth/Allowances", {
  effect: Effect.gen(function* () {
    const administrators = yield* Administrators
    const subscriptions = yield* SubscriptionRepository
    const storage = yield* StorageEntitlements
    const find = Effect.fn("Allowances.find")(function* (user: User) {
      return computeAllowance(
        isBillingExempt(administrators, user),
        yield* subscriptions.find(user.id),
        yield* storage.find(user.id)
      )
    })
    /** None for a user who never had a subscription. */
    const findStatus = Effect.fn("Allowances.findStatus")(function* (user: User) {
      return Option.map(yield* subscriptions.find(user.id), ({ status }) => status)
    })
    return { find, findStatus }
  })
}) {}
