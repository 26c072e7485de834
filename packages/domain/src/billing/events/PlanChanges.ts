import { DateTime, Effect, Option } from "effect"
import { AccountPolicy, isSyntheticEmail } from "../../accounts/AccountPolicy.ts"
import type { User } from "../../shared/User.ts"
import { Users } from "../../accounts/Users.ts"
import { AgentLimits } from "../../agents/AgentLimits.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { MailOutbox } from "../../mail/MailOutbox.ts"
import { Allowances } from "../subscriptions/Allowances.ts"
import { StorageEntitlements } from "../storage/StorageEntitlements.ts"
import { type CardSubscriptionTerms, type Subscription, SubscriptionRepository } from "../subscriptions/Subscription.ts"
import type { RecordedSubscription } from "./CardFactApplication.ts"
import { CardEventRepository } from "./CardEventRepository.ts"
import { type EffectiveSubscription, findEffectiveSubscription, hasStorageUpgrade } from "./EffectiveSubscription.ts"
import { composeAgentsStoppedMail } from "./PlanMails.ts"
import { ReconfigureInstanceJob } from "../../agents/AgentJobs.ts"

const ofSeconds = (seconds: number) => DateTime.unsafeMake(seconds * 1000)

const termsOf = ({ id, lastEventAt, payer, periodEnd }: EffectiveSubscription): CardSubscriptionTerms => ({
  customerId: payer,
  subscriptionId: id,
  currentPeriodEnd: Option.map(Option.fromNullable(periodEnd), ofSeconds),
  lastEventAt: ofSeconds(lastEventAt)
})

/** What a user has by what he pays for, and what follows when that is something else than before. */
export class PlanChanges extends Effect.Service<PlanChanges>()("@berth/PlanChanges", {
  effect: Effect.gen(function* () {
    const events = yield* CardEventRepository
    const users = yield* Users
    const subscriptions = yield* SubscriptionRepository
    const allowances = yield* Allowances
    const storage = yield* StorageEntitlements
    const agents = yield* AgentLimits
    const outbox = yield* Outbox
    const post = yield* MailOutbox
    const rules = yield* AccountPolicy

    /** A month that was not paid yet stops nothing that is up: cards are charged again for days before a subscription ends. */
    const stopWhatIsTooMuch = (user: User) =>
      Effect.gen(function* () {
        const { agents: limit } = yield* allowances.find(user)
        const stopped = yield* agents.enforce(user.id, limit)
        if (stopped.length === 0) return
        yield* Effect.logInfo("Agents over the plan's limit were stopped").pipe(
          Effect.annotateLogs({ userId: user.id, agentIds: stopped.map(({ id }) => id), limit })
        )
        if (!isSyntheticEmail(user.email, rules))
          yield* post.append(
            composeAgentsStoppedMail(user.email, rules.appUrl, { limit, stopped: stopped.length }),
            user.id
          )
      })

    /** What was his by one subscription that turned out to be somebody else's is over. */
    const countedFor = (user: User, mine: ReadonlyArray<RecordedSubscription>, before: Option.Option<Subscription>) =>
      Effect.gen(function* () {
        const counting = findEffectiveSubscription(mine)
        if (Option.isSome(counting)) {
          const { plan, status } = counting.value
          return Option.some({ subscription: { userId: user.id, plan, status }, terms: termsOf(counting.value) })
        }
        const terms = yield* subscriptions.findTerms(user.id)
        return Option.map(Option.all({ subscription: before, terms }), (known) => ({
          ...known,
          subscription: { ...known.subscription, status: "canceled" as const }
        }))
      })

    /** Joins the running transaction, in which what the user's subscriptions are has just been written. */
    const apply = Effect.fn("PlanChanges.apply")(function* (user: User) {
      const mine = yield* events.listSubscriptions(user.id)
      const tier = hasStorageUpgrade(mine) ? "upgraded" : "included"
      if ((yield* storage.find(user.id)) !== tier) {
        yield* storage.set(user.id, tier)
        yield* outbox.append(ReconfigureInstanceJob, { userId: user.id }, user.id)
      }
      const before = yield* subscriptions.find(user.id)
      const counted = yield* countedFor(user, mine, before)
      if (Option.isNone(counted)) return
      const { subscription, terms } = counted.value
      // Whoever makes an agent at this moment counts by the plan from before, and is counted; or by the new one.
      yield* agents.lockOwner(user.id)
      yield* subscriptions.saveWithTerms(subscription, terms)
      const isAsBefore = Option.exists(
        before,
        ({ plan, status }) => plan === subscription.plan && status === subscription.status
      )
      if (isAsBefore) return
      yield* Effect.logInfo("A subscription changed").pipe(
        Effect.annotateLogs({ userId: user.id, plan: subscription.plan, status: subscription.status })
      )
      if (subscription.status !== "past_due")
        yield* Effect.orDie(Effect.flatMap(users.find(user.id), stopWhatIsTooMuch))
      yield* outbox.append(ReconfigureInstanceJob, { userId: user.id }, user.id)
    })

    return { apply }
  })
}) {}
