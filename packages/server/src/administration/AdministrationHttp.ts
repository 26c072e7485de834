import { WebApi } from "@berth/api/WebApi"
import { Audit } from "@berth/domain/administration/audit/Audit"
import { makeUserActor } from "@berth/domain/administration/audit/AuditEntry"
import { UserAdministration } from "@berth/domain/administration/UserAdministration"
import { Principal } from "@berth/domain/sessions/Principal"
import type { User } from "@berth/domain/shared/User"
import { HttpApiBuilder } from "@effect/platform"
import { Effect, Option } from "effect"

const currentActor = Effect.map(Principal, ({ user }) => makeUserActor(user.id))

const toAdministeredUser = ({
  isAdministrator,
  user: { createdAt, credits, email, emailVerifiedAt, id, name, plan }
}: {
  readonly user: User
  readonly isAdministrator: boolean
}) => ({ id, email, emailVerified: emailVerifiedAt !== null, name, plan, credits, isAdministrator, createdAt })

export const layer = HttpApiBuilder.group(WebApi, "administration", (handlers) =>
  Effect.gen(function* () {
    const users = yield* UserAdministration
    const audit = yield* Audit

    return handlers
      .handle("users", ({ urlParams: { limit, offset, query } }) =>
        Effect.map(users.search({ text: Option.fromNullable(query), limit, offset }), (page) => ({
          users: page.users.map(toAdministeredUser),
          total: page.total,
          limit,
          offset
        }))
      )
      .handle("user", ({ path: { id } }) =>
        Effect.gen(function* () {
          const account = yield* users.read(yield* currentActor, id)
          return {
            ...toAdministeredUser(account),
            subscription: Option.getOrNull(account.subscription),
            units: account.usage,
            agents: account.agents,
            instance: Option.getOrNull(account.instance)
          }
        })
      )
      .handle("plan", ({ path: { id }, payload: { plan, reason } }) =>
        Effect.flatMap(currentActor, (actor) =>
          Effect.map(users.changePlan(actor, id, plan, reason), toAdministeredUser)
        )
      )
      .handle("credits", ({ path: { id }, payload: { amount, reason } }) =>
        Effect.flatMap(currentActor, (actor) => users.adjustCredits(actor, id, amount, reason))
      )
      .handle("confirmEmail", ({ path: { id }, payload: { reason } }) =>
        Effect.flatMap(currentActor, (actor) => Effect.map(users.confirmEmail(actor, id, reason), toAdministeredUser))
      )
      .handle("audit", ({ urlParams: { actor, limit, offset, user } }) =>
        Effect.map(
          audit.list({ userId: Option.fromNullable(user), actor: Option.fromNullable(actor), limit, offset }),
          (page) => ({ ...page, limit, offset })
        )
      )
  })
)
