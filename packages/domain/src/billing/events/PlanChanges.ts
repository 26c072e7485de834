import { DateTime, Effect, Option } from "effect"
import type { User } from "../../shared/User.ts"
import { StorageEntitlements } from "../storage/StorageEntitlements.ts"
import { isManualPlan } from "../subscriptions/ManualPlan.ts"
import { ManualPlans } from "../subscriptions/ManualPlans.ts"
import { PlanEnforcement } from "../subscriptions/PlanEnforcement.ts"
import { SubscriptionChanges } from "../subscriptions/SubscriptionChanges.ts"
import { type CardSubscriptionTerms, SubscriptionRepository } from "../subscriptions/SubscriptionRepository.ts"
import type { RecordedSubscription } from "./CardFactApplication.ts"
import { CardEventRepository } from "./CardEventRepository.ts"
import { type EffectiveSubscription, findEffectiveSubscription, hasStorageUpgrade } from "./EffectiveSubscription.ts"

const fromSeconds = (seconds: number) => DateTime.unsafeMake(seconds * 1000)

const toTerms = ({ id, lastEventAt, payer, periodEnd }: EffectiveSubscription): CardSubscriptionTerms => ({
  customerId: payer,
  subscriptionId: id,
  currentPeriodEnd: Option.map(Option.fromNullable(periodEnd), fromSeconds),
  lastEventAt: fromSeconds(lastEventAt)
})

/** Derives plan and storage from a user's card subscriptions and applies the difference. */
export class PlanChanges extends Effect.Service<PlanChanges>()("@berth/PlanChanges", {
  effect: Effect.gen(function* () {
    const events = yield* CardEventRepository
    const subscriptions = yield* SubscriptionRepository
    const changes = yield* SubscriptionChanges
    const manual = yield* ManualPlans
    const storage = yield* StorageEntitlements
    const enforcement = yield* PlanEnforcement

    /**
     * A subscription found to belong to another user is canceled for this user. A plan set by an administrator outlasts
     * canceled subscriptions.
     */
    const findCurrent = Effect.fnUntraced(function* (user: User, recorded: ReadonlyArray<RecordedSubscription>) {
      const effective = findEffectiveSubscription(recorded)
      if (Option.isSome(effective)) {
        const { plan, status } = effective.value
        if (status === "canceled" && Option.exists(yield* manual.find(user.id), isManualPlan)) return Option.none()
        return Option.some({ subscription: { userId: user.id, plan, status }, terms: toTerms(effective.value) })
      }
      const [subscription, terms] = [yield* subscriptions.find(user.id), yield* subscriptions.findTerms(user.id)]
      return Option.map(Option.all({ subscription, terms }), (known) => ({
        ...known,
        subscription: { ...known.subscription, status: "canceled" as const }
      }))
    })

    const applyStorage = Effect.fnUntraced(function* (user: User, recorded: ReadonlyArray<RecordedSubscription>) {
      const tier = hasStorageUpgrade(recorded) ? "upgraded" : "included"
      if ((yield* storage.find(user.id)) === tier) return
      yield* storage.set(user.id, tier)
      yield* enforcement.entitlementsChanged(user.id)
    })

    /** Joins the running transaction, which wrote the user's card subscriptions. */
    const apply = Effect.fn("PlanChanges.apply")(function* (user: User) {
      const recorded = yield* events.listSubscriptions(user.id)
      yield* applyStorage(user, recorded)
      const current = yield* findCurrent(user, recorded)
      if (Option.isSome(current)) yield* changes.save(current.value.subscription, Option.some(current.value.terms))
    })

    return { apply }
  })
}) {}
