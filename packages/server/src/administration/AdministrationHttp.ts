import { WebApi } from "@berth/api/WebApi"
import { Administrators } from "@berth/domain/accounts/Administrators"
import { AccountSuspensions } from "@berth/domain/administration/AccountSuspensions"
import { InstanceAdministration } from "@berth/domain/administration/InstanceAdministration"
import type { InstanceAction } from "@berth/domain/instances/InstanceJobs"
import { QueueAdministration } from "@berth/domain/administration/QueueAdministration"
import type { QueueName } from "@berth/domain/jobs/JobKind"
import { ProviderAdministration } from "@berth/domain/administration/ProviderAdministration"
import type { UserId } from "@berth/domain/shared/UserId"
import { Audit } from "@berth/domain/administration/audit/Audit"
import { makeUserActor } from "@berth/domain/administration/audit/AuditEntry"
import { describeUser, UserAdministration } from "@berth/domain/administration/UserAdministration"
import { Principal } from "@berth/domain/sessions/Principal"
import type { User } from "@berth/domain/shared/User"
import { Effect, Option } from "effect"
import { group } from "../http/ApiGroup.ts"

const currentActor = Effect.map(Principal, ({ user }) => makeUserActor(user.id))

interface InstanceRequest {
  readonly path: { readonly userId: UserId }
  readonly payload: { readonly reason: string }
}

interface QueueRequest {
  readonly path: { readonly queue: QueueName }
  readonly payload: { readonly reason: string }
}

export const layer = group(WebApi, "administration", (handlers) =>
  Effect.gen(function* () {
    const users = yield* UserAdministration
    const suspensions = yield* AccountSuspensions
    const audit = yield* Audit
    const administrators = yield* Administrators
    const instances = yield* InstanceAdministration
    const queues = yield* QueueAdministration
    const providers = yield* ProviderAdministration
    const summarize = (user: User) => describeUser(administrators, user)
    const act =
      (action: InstanceAction) =>
      ({ path: { userId }, payload: { reason } }: InstanceRequest) =>
        Effect.flatMap(currentActor, (actor) =>
          Effect.as(instances.act(actor, userId, action, reason), { success: true })
        )

    const changeQueue =
      (change: typeof queues.pause) =>
      ({ path: { queue }, payload: { reason } }: QueueRequest) =>
        Effect.flatMap(currentActor, (actor) => Effect.as(change(actor, queue, reason), { success: true }))

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
            subscription: account.subscription,
            units: account.units,
            agents: account.agents,
            instance: account.instance
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
      .handle("instances", ({ urlParams: { limit, offset } }) =>
        Effect.map(instances.list({ limit, offset }), (page) => ({ ...page, limit, offset }))
      )
      .handle("startInstance", act("start"))
      .handle("stopInstance", act("stop"))
      .handle("restartInstance", act("restart"))
      .handle("repairInstance", act("repair"))
      .handle("queues", () => Effect.map(queues.list, (all) => ({ queues: all })))
      .handle("pauseQueue", changeQueue(queues.pause))
      .handle("resumeQueue", changeQueue(queues.resume))
      .handle("providers", () => Effect.map(providers.list, (all) => ({ providers: all })))
      .handle("deadJobs", ({ urlParams: { limit, queue } }) =>
        Effect.map(queues.listDead(Option.fromNullable(queue), limit), (jobs) => ({ jobs, count: jobs.length }))
      )
      .handle("replayJob", ({ path: { id }, payload: { reason } }) =>
        Effect.flatMap(currentActor, (actor) =>
          Effect.map(queues.replay(actor, id, reason), (queue) => ({ success: true, queue }))
        )
      )
      .handle("discardJob", ({ path: { id }, payload: { reason } }) =>
        Effect.flatMap(currentActor, (actor) =>
          Effect.map(queues.discard(actor, id, reason), (queue) => ({ success: true, queue }))
        )
      )
      .handle("audit", ({ urlParams: { actor, limit, offset, user } }) =>
        Effect.map(
          audit.list({ userId: Option.fromNullable(user), actor: Option.fromNullable(actor), limit, offset }),
          (page) => ({ ...page, limit, offset })
        )
      )
  })
)
