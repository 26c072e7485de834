import { DateTime, Effect, Option } from "effect"
import { AccountRules, isMadeUp } from "../../accounts/AccountRules.ts"
import type { User } from "../../accounts/User.ts"
import { Users } from "../../accounts/Users.ts"
import { AgentLimits } from "../../agents/AgentLimits.ts"
import { ReconfigureInstance } from "../../jobs/Job.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { Post } from "../../mail/Post.ts"
import { Allowances } from "../Allowances.ts"
import { StorageEntitlements } from "../StorageEntitlements.ts"
import { type CardTerms, type Subscription, SubscriptionRepository } from "../Subscription.ts"
import type { ToldSubscription } from "./ApplyFact.ts"
import { CardEvents } from "./CardEvents.ts"
import { type Counting, countingSubscription, hasStorage } from "./CountingSubscription.ts"
import { agentsStoppedMail } from "./PlanMails.ts"

const ofSeconds = (seconds: number) => DateTime.unsafeMake(seconds * 1000)

const termsOf = ({ id, lastEventAt, payer, periodEnd }: Counting): CardTerms => ({
  customerId: payer,
  subscriptionId: id,
  currentPeriodEnd: Option.map(Option.fromNullable(periodEnd), ofSeconds),
  lastEventAt: ofSeconds(lastEventAt)
})

/** What a user has by what he pays for, and what follows when that is something else than before. */
export class PlanChanges extends Effect.Service<PlanChanges>()("@berth/PlanChanges", {
  effect: Effect.gen(function* () {
    const events = yield* CardEvents
    const users = yield* Users
    const subscriptions = yield* SubscriptionRepository
    const allowances = yield* Allowances
    const storage = yield* StorageEntitlements
    const agents = yield* AgentLimits
    const outbox = yield* Outbox
    const post = yield* Post
    const rules = yield* AccountRules

    /** A month that was not paid yet stops nothing that is up: cards are charged again for days before a subscription ends. */
    const stopWhatIsTooMuch = (user: User) =>
      Effect.gen(function* () {
        const { agents: limit } = yield* allowances.of(user)
        const stopped = yield* agents.keepWithin(user.id, limit)
        if (stopped.length === 0) return
        yield* Effect.logInfo("Agents over the plan's limit were stopped").pipe(
          Effect.annotateLogs({ userId: user.id, agentIds: stopped.map(({ id }) => id), limit })
        )
        if (!isMadeUp(user.email, rules))
          yield* post.write(agentsStoppedMail(user.email, rules.appUrl, { limit, stopped: stopped.length }), user.id)
      })

    /** What was his by one subscription that turned out to be somebody else's is over. */
    const countedFor = (user: User, mine: ReadonlyArray<ToldSubscription>, before: Option.Option<Subscription>) =>
      Effect.gen(function* () {
        const counting = countingSubscription(mine)
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
    const follow = Effect.fn("PlanChanges.follow")(function* (user: User) {
      const mine = yield* events.subscriptionsOf(user.id)
      const tier = hasStorage(mine) ? "upgraded" : "included"
      if ((yield* storage.of(user.id)) !== tier) {
        yield* storage.set(user.id, tier)
        yield* outbox.append(ReconfigureInstance, { userId: user.id }, user.id)
      }
      const before = yield* subscriptions.find(user.id)
      const counted = yield* countedFor(user, mine, before)
      if (Option.isNone(counted)) return
      const { subscription, terms } = counted.value
      // Whoever makes an agent at this moment counts by the plan from before, and is counted; or by the new one.
      yield* agents.hold(user.id)
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
      yield* outbox.append(ReconfigureInstance, { userId: user.id }, user.id)
    })

    return { follow }
  })
}) {}
