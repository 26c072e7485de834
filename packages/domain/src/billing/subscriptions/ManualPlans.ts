import { Effect, Option } from "effect"
import { Users } from "../../accounts/Users.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { PlanId } from "../../shared/PlanId.ts"
import type { User } from "../../shared/User.ts"
import type { UserId } from "../../shared/UserId.ts"
import { decideManualPlan, type StoredSubscription } from "./ManualPlan.ts"
import { SubscriptionChanges } from "./SubscriptionChanges.ts"
import { SubscriptionRepository } from "./SubscriptionRepository.ts"

/** Plans without the card processor. */
export class ManualPlans extends Effect.Service<ManualPlans>()("@berth/ManualPlans", {
  effect: Effect.gen(function* () {
    const subscriptions = yield* SubscriptionRepository
    const changes = yield* SubscriptionChanges
    const users = yield* Users
    const transaction = yield* Transaction

    /** None for a user who never had a subscription. */
    const find = Effect.fn("ManualPlans.find")(function* (userId: UserId) {
      const stored = yield* subscriptions.find(userId)
      const terms = yield* subscriptions.findTerms(userId)
      return Option.map(stored, ({ plan, status }): StoredSubscription => ({
        plan,
        status,
        byCard: Option.isSome(terms)
      }))
    })

    /** The free plan ends a manual plan. Joins the running transaction, which holds the lock on the user. */
    const set = Effect.fn("ManualPlans.set")(function* (user: User, plan: PlanId) {
      const stored = yield* find(user.id)
      const next = yield* decideManualPlan(stored, plan)
      if (Option.isSome(next)) yield* changes.save({ userId: user.id, ...next.value }, Option.none())
    })

    /** Sets a plan even while a card subscription runs; the next event of the subscription replaces it. */
    const grant = Effect.fn("ManualPlans.grant")(
      function* (userId: UserId, plan: PlanId) {
        yield* users.findForUpdate(userId)
        yield* changes.save({ userId, plan, status: "active" }, Option.none())
      },
      (granting) => transaction.run(granting)
    )

    return { find, set, grant }
  })
}) {}
