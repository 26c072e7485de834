import { type Context, Effect, Option, Schema } from "effect"
import { ExternalAccounts } from "../accounts/registration/ExternalAccounts.ts"
import { Users } from "../accounts/Users.ts"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { CreditAdjustments } from "../billing/credits/CreditAdjustments.ts"
import { ManualPlans } from "../billing/subscriptions/ManualPlans.ts"
import { UnitLedger } from "../billing/units/UnitLedger.ts"
import { Instances } from "../instances/Instances.ts"
import { IdempotentExecution } from "../limits/IdempotentExecution.ts"
import { Transaction } from "../persistence/Transaction.ts"
import type { Credits } from "../shared/Money.ts"
import type { PlanId } from "../shared/PlanId.ts"
import { User } from "../shared/User.ts"
import type { UserId } from "../shared/UserId.ts"
import { Audit } from "./audit/Audit.ts"
import type { Actor } from "./audit/AuditEntry.ts"
import type { Administrators } from "../accounts/Administrators.ts"

export const describeUser = (administrators: Context.Tag.Service<Administrators>, user: User) => ({
  id: user.id,
  email: user.email,
  emailVerified: user.emailVerifiedAt !== null,
  name: user.name,
  plan: user.plan,
  credits: user.credits,
  suspendedAt: user.suspendedAt,
  isAdministrator: administrators.includes(user),
  createdAt: user.createdAt
})

/** Administration of accounts, plans and credits. Every change is audited in its transaction. */
export class UserAdministration extends Effect.Service<UserAdministration>()("@berth/UserAdministration", {
  effect: Effect.gen(function* () {
    const users = yield* Users
    const accounts = yield* ExternalAccounts
    const agents = yield* AgentLifecycle
    const instances = yield* Instances
    const units = yield* UnitLedger
    const plans = yield* ManualPlans
    const credits = yield* CreditAdjustments
    const audit = yield* Audit
    const transaction = yield* Transaction
    const { run } = yield* IdempotentExecution

    /** Returns the account without secrets and without conversations. The read is audited. */
    const read = Effect.fn("UserAdministration.read")(function* (actor: Actor, id: UserId) {
      const user = yield* users.find(id)
      yield* audit.record(actor, "user.read", id)
      const owned = yield* agents.listOwned(id)
      const instance = yield* Effect.option(instances.find(id))
      return {
        user,
        subscription: Option.getOrNull(yield* plans.find(id)),
        units: yield* units.findUsage(user),
        agents: owned.map(({ createdAt, id: agentId, model, name, status }) => ({
          id: agentId,
          name,
          model,
          status,
          createdAt
        })),
        instance: Option.getOrNull(
          Option.map(instance, ({ desired, runtimeVersion, startedAt, status }) => ({
            status,
            desired,
            startedAt,
            runtimeVersion
          }))
        )
      }
    })

    /** Sets a plan without the card processor; the free plan removes it. */
    const changePlan = Effect.fn("UserAdministration.changePlan")(function* (
      actor: Actor,
      id: UserId,
      plan: PlanId,
      reason: string
    ) {
      const before = yield* users.findForUpdate(id)
      yield* plans.set(before, plan)
      const after = yield* users.find(id)
      yield* audit.record(actor, "user.change_plan", id, {
        reason,
        before: { plan: before.plan },
        after: { plan: after.plan }
      })
      return after
    }, transaction.run)

    /** Adds credits, or removes them for a negative amount. Once per `Idempotency-Key`. Returns the balance. */
    const adjustCredits = Effect.fn("UserAdministration.adjustCredits")(function* (
      actor: Actor,
      id: UserId,
      amount: Credits,
      reason: string
    ) {
      const adjust = Effect.gen(function* () {
        const before = yield* users.findForUpdate(id)
        yield* credits.adjust(id, amount)
        const after = yield* users.find(id)
        yield* audit.record(actor, "user.adjust_credits", id, {
          reason,
          before: { credits: before.credits },
          after: { credits: after.credits }
        })
        return { credits: after.credits }
      })
      return yield* transaction.run(run(Schema.Struct({ credits: User.fields.credits }), adjust))
    })

    /** Confirms the present address, like its mailed link. Idempotent. */
    const confirmEmail = Effect.fn("UserAdministration.confirmEmail")(function* (
      actor: Actor,
      id: UserId,
      reason: string
    ) {
      const before = yield* users.findForUpdate(id)
      if (before.emailVerifiedAt === null) yield* accounts.confirmEmail(id)
      yield* audit.record(actor, "user.confirm_email", id, {
        reason,
        before: { emailVerified: before.emailVerifiedAt !== null },
        after: { emailVerified: true }
      })
      return yield* users.find(id)
    }, transaction.run)

    return { search: users.search, read, changePlan, adjustCredits, confirmEmail }
  })
}) {}
