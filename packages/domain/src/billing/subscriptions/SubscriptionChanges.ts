import { Effect, Option } from "effect"
import { AccountPolicy, isSyntheticEmail } from "../../accounts/AccountPolicy.ts"
import { Users } from "../../accounts/Users.ts"
import { type MailDraft, MailOutbox } from "../../mail/MailOutbox.ts"
import type { UserId } from "../../shared/UserId.ts"
import { joinMailLines } from "../../accounts/AccountMails.ts"
import { Allowances } from "./Allowances.ts"
import { PlanEnforcement } from "./PlanEnforcement.ts"
import type { Subscription } from "./Subscription.ts"
import { type CardSubscriptionTerms, SubscriptionRepository } from "./SubscriptionRepository.ts"
import type { Email } from "../../shared/Email.ts"

/** States the number of stopped agents, not their names, which are user input. */
const composeAgentsStoppedMail = (
  to: Email,
  appUrl: URL,
  { limit, stopped }: { readonly limit: number; readonly stopped: number }
): MailDraft => ({
  to,
  subject: stopped === 1 ? "One of your agents was stopped" : `${stopped} of your agents were stopped`,
  text: joinMailLines(
    `Your plan at ${appUrl.host} has room for ${limit === 1 ? "one agent" : `${limit} agents`} now.`,
    "",
    `The oldest goes on where there is room; ${stopped === 1 ? "one was" : `${stopped} were`} stopped. Nothing of them is deleted: their`,
    "configuration, conversations and files stay. With a larger plan they start again when you start your instance:",
    "",
    `${appUrl.origin}/pricing`
  )
})

/** Saves the subscription of a user and applies its plan to agents and instance. */
export class SubscriptionChanges extends Effect.Service<SubscriptionChanges>()("@berth/SubscriptionChanges", {
  effect: Effect.gen(function* () {
    const users = yield* Users
    const subscriptions = yield* SubscriptionRepository
    const allowances = yield* Allowances
    const enforcement = yield* PlanEnforcement
    const mails = yield* MailOutbox
    const policy = yield* AccountPolicy

    const enforceLimit = Effect.fnUntraced(function* (userId: UserId) {
      const user = yield* users.find(userId)
      const { agents: limit } = yield* allowances.find(user)
      const stopped = yield* enforcement.enforce(userId, limit)
      if (stopped > 0 && !isSyntheticEmail(user.email, policy))
        yield* mails.append(composeAgentsStoppedMail(user.email, policy.appUrl, { limit, stopped }), userId)
    })

    /** `terms`: none for a plan without a card. Joins the running transaction, which holds the lock on the user. */
    const save = Effect.fn("SubscriptionChanges.save")(function* (
      subscription: Subscription,
      terms: Option.Option<CardSubscriptionTerms>
    ) {
      const { plan, status, userId } = subscription
      const before = yield* subscriptions.find(userId)
      // Concurrent provisioning counts either by the old plan before this commits, or by the new plan after it.
      yield* enforcement.lockOwner(userId)
      yield* Option.match(terms, {
        onNone: () => subscriptions.save(subscription),
        onSome: (known) => subscriptions.saveWithTerms(subscription, known)
      })
      if (Option.exists(before, (known) => known.plan === plan && known.status === status)) return
      yield* Effect.logInfo("Subscription changed").pipe(Effect.annotateLogs({ userId, plan, status }))
      // A past due subscription stops no agent, since the processor retries the card for days before the subscription
      // ends.
      if (status !== "past_due") yield* Effect.orDie(enforceLimit(userId))
      yield* enforcement.entitlementsChanged(userId)
    })

    return { save }
  })
}) {}
