import { DateTime, Effect, Option } from "effect"
import { AccountPolicy, isSyntheticEmail } from "../../accounts/AccountPolicy.ts"
import { Users } from "../../accounts/Users.ts"
import { MailOutbox } from "../../mail/MailOutbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { PlanId } from "../../shared/PlanId.ts"
import type { User } from "../../shared/User.ts"
import type { UserId } from "../../shared/UserId.ts"
import { StorageEntitlements } from "../storage/StorageEntitlements.ts"
import { Allowances } from "../subscriptions/Allowances.ts"
import { PlanEnforcement } from "../subscriptions/PlanEnforcement.ts"
import type { Subscription } from "../subscriptions/Subscription.ts"
import { type CardSubscriptionTerms, SubscriptionRepository } from "../subscriptions/SubscriptionRepository.ts"
import type { RecordedSubscription } from "./CardFactApplication.ts"
import { CardEventRepository } from "./CardEventRepository.ts"
import { type EffectiveSubscription, findEffectiveSubscription, hasStorageUpgrade } from "./EffectiveSubscription.ts"
import { composeAgentsStoppedMail } from "./PlanMails.ts"

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
    const users = yield* Users
    const subscriptions = yield* SubscriptionRepository
    const allowances = yield* Allowances
    const storage = yield* StorageEntitlements
    const enforcement = yield* PlanEnforcement
    const mails = yield* MailOutbox
    const policy = yield* AccountPolicy
    const transaction = yield* Transaction

    const enforceLimit = (user: User) =>
      Effect.gen(function* () {
        const { agents: limit } = yield* allowances.find(user)
        const stopped = yield* enforcement.enforce(user.id, limit)
        if (stopped > 0 && !isSyntheticEmail(user.email, policy))
          yield* mails.append(composeAgentsStoppedMail(user.email, policy.appUrl, { limit, stopped }), user.id)
      })

    /** A subscription that turned out to belong to another user is canceled for this one. */
    const findCurrent = (
      user: User,
      recorded: ReadonlyArray<RecordedSubscription>,
      before: Option.Option<Subscription>
    ) =>
      Effect.gen(function* () {
        const effective = findEffectiveSubscription(recorded)
        if (Option.isSome(effective)) {
          const { plan, status } = effective.value
          return Option.some({ subscription: { userId: user.id, plan, status }, terms: toTerms(effective.value) })
        }
        const terms = yield* subscriptions.findTerms(user.id)
        return Option.map(Option.all({ subscription: before, terms }), (known) => ({
          ...known,
          subscription: { ...known.subscription, status: "canceled" as const }
        }))
      })

    const applyStorage = (user: User, recorded: ReadonlyArray<RecordedSubscription>) =>
      Effect.gen(function* () {
        const tier = hasStorageUpgrade(recorded) ? "upgraded" : "included"
        if ((yield* storage.find(user.id)) === tier) return
        yield* storage.set(user.id, tier)
        yield* enforcement.entitlementsChanged(user.id)
      })

    /** Joins the running transaction. */
    const replace = (
      user: User,
      before: Option.Option<Subscription>,
      subscription: Subscription,
      save: Effect.Effect<void>
    ) =>
      Effect.gen(function* () {
        // Concurrent provisioning counts by the old plan before this commits, or by the new plan after it.
        yield* enforcement.lockOwner(user.id)
        yield* save
        const isUnchanged = Option.exists(
          before,
          ({ plan, status }) => plan === subscription.plan && status === subscription.status
        )
        if (isUnchanged) return
        yield* Effect.logInfo("Subscription changed").pipe(
          Effect.annotateLogs({ userId: user.id, plan: subscription.plan, status: subscription.status })
        )
        // Past due stops no agent: the processor retries the card for days before the subscription ends.
        if (subscription.status !== "past_due") yield* Effect.orDie(Effect.flatMap(users.find(user.id), enforceLimit))
        yield* enforcement.entitlementsChanged(user.id)
      })

    /** Joins the running transaction, in which the user's card subscriptions were written. */
    const apply = Effect.fn("PlanChanges.apply")(function* (user: User) {
      const recorded = yield* events.listSubscriptions(user.id)
      yield* applyStorage(user, recorded)
      const before = yield* subscriptions.find(user.id)
      const current = yield* findCurrent(user, recorded, before)
      if (Option.isNone(current)) return
      const { subscription, terms } = current.value
      yield* replace(user, before, subscription, subscriptions.saveWithTerms(subscription, terms))
    })

    /** Gives a plan without payment. The user's card subscriptions, if there are any, replace it at their next event. */
    const grant = Effect.fn("PlanChanges.grant")(
      function* (userId: UserId, plan: PlanId) {
        const user = yield* users.findForUpdate(userId)
        const subscription = { userId, plan, status: "active" as const }
        yield* replace(user, yield* subscriptions.find(userId), subscription, subscriptions.save(subscription))
      },
      (granting) => transaction.run(granting)
    )

    return { apply, grant }
  })
}) {}
