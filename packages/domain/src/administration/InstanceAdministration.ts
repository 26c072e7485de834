import { Effect, Option } from "effect"
import { Users } from "../accounts/Users.ts"
import { type InstanceAction, InstanceActionJob } from "../instances/InstanceJobs.ts"
import { Instances } from "../instances/Instances.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import type { UserId } from "../shared/UserId.ts"
import { UserInstanceMissing, UserSuspended } from "./AdministrationErrors.ts"
import { Audit } from "./audit/Audit.ts"
import type { Actor } from "./audit/AuditEntry.ts"

/** Administration of instances. Actions run as jobs, appended in the transaction of their audit entry. */
export class InstanceAdministration extends Effect.Service<InstanceAdministration>()("@berth/InstanceAdministration", {
  effect: Effect.gen(function* () {
    const users = yield* Users
    const instances = yield* Instances
    const audit = yield* Audit
    const outbox = yield* Outbox
    const transaction = yield* Transaction

    /** Newest first, with the figures of running instances whose backend responds. */
    const list = Effect.fn("InstanceAdministration.list")(function* (page: {
      readonly limit: number
      readonly offset: number
    }) {
      const listed = yield* instances.list(page)
      const rows = yield* Effect.forEach(
        listed.instances,
        ({ instance: { desired, runtimeVersion, startedAt, status, userId }, ownerEmail, ownerName }) =>
          Effect.gen(function* () {
            const figures =
              desired === "up"
                ? yield* Effect.orElseSucceed(instances.stats(userId), () => Option.none())
                : Option.none()
            return {
              userId,
              ownerEmail,
              ownerName,
              status,
              desired,
              startedAt,
              runtimeVersion,
              cpuPercent: Option.match(figures, { onNone: () => null, onSome: ({ cpuPercent }) => cpuPercent }),
              memoryBytes: Option.match(figures, { onNone: () => null, onSome: ({ memoryBytes }) => memoryBytes })
            }
          }),
        { concurrency: 8 }
      )
      return { instances: rows, total: listed.total }
    })

    /** Returns before the action runs. */
    const act = Effect.fn("InstanceAdministration.act")(function* (
      actor: Actor,
      userId: UserId,
      action: InstanceAction,
      reason: string
    ) {
      const { suspendedAt } = yield* users.find(userId)
      const { desired, status } = yield* Effect.mapError(instances.find(userId), () => new UserInstanceMissing())
      if (suspendedAt !== null && action !== "stop") return yield* new UserSuspended()
      yield* audit.record(actor, `instance.${action}`, userId, { reason, before: { status, desired } })
      yield* outbox.append(InstanceActionJob, { userId, action }, userId)
    }, transaction.run)

    return { list, act }
  })
}) {}
