import { WebApi } from "@berth/api/WebApi"
import { Administrators } from "@berth/domain/accounts/Administrators"
import { AccountSuspensions } from "@berth/domain/administration/AccountSuspensions"
import { Audit } from "@berth/domain/administration/audit/Audit"
import { makeUserActor } from "@berth/domain/administration/audit/AuditEntry"
import { UserAdministration } from "@berth/domain/administration/UserAdministration"
import { Principal } from "@berth/domain/sessions/Principal"
import type { User } from "@berth/domain/shared/User"
import { HttpApiBuilder } from "@effect/platform"
import { Effect, Option } from "effect"

const currentActor = Effect.map(Principal, ({ user }) => makeUserActor(user.id))

export const layer = HttpApiBuilder.group(WebApi, "administration", (handlers) =>
  Effect.gen(function* () {
    const users = yield* UserAdministration
    const suspensions = yield* AccountSuspensions
    const audit = yield* Audit
    const administrators = yield* Administrators
    const summarize = (user: User) => ({
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

    return handlers
      .handle("users", ({ urlParams: { limit, offset, query } }) =>
        Effect.map(users.search({ text: Option.fromNullable(query), limit, offset }), (page) => ({
          users: page.users.map(summarize),
          total: page.total,
          limit,
          offset
        }))
      )
      .handle("user", ({ path: { id } }) =>
        Effect.gen(function* () {
          const account = yield* users.read(yield* currentActor, id)
          return {
            ...summarize(account.user),
            subscription: Option.getOrNull(account.subscription),
            units: account.usage,
            agents: account.agents,
            instance: Option.getOrNull(account.instance)
          }
        })
      )
      .handle("plan", ({ path: { id }, payload: { plan, reason } }) =>
        Effect.flatMap(currentActor, (actor) => Effect.map(users.changePlan(actor, id, plan, reason), summarize))
      )
      .handle("credits", ({ path: { id }, payload: { amount, reason } }) =>
        Effect.flatMap(currentActor, (actor) => users.adjustCredits(actor, id, amount, reason))
      )
      .handle("confirmEmail", ({ path: { id }, payload: { reason } }) =>
        Effect.flatMap(currentActor, (actor) => Effect.map(users.confirmEmail(actor, id, reason), summarize))
      )
      .handle("suspend", ({ path: { id }, payload: { reason } }) =>
        Effect.flatMap(currentActor, (actor) => Effect.map(suspensions.suspend(actor, id, reason), summarize))
      )
      .handle("unsuspend", ({ path: { id }, payload: { reason } }) =>
        Effect.flatMap(currentActor, (actor) => Effect.map(suspensions.unsuspend(actor, id, reason), summarize))
      )
      .handle("audit", ({ urlParams: { actor, limit, offset, user } }) =>
        Effect.map(
          audit.list({ userId: Option.fromNullable(user), actor: Option.fromNullable(actor), limit, offset }),
          (page) => ({ ...page, limit, offset })
        )
      )
  })
)
