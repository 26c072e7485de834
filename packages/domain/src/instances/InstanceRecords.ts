import { Effect, Option } from "effect"
import { Users } from "../accounts/Users.ts"
import type { Agent } from "../agents/Agent.ts"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { type AgentLifecycleEvent, isUp } from "../agents/AgentStatus.ts"
import { Transaction } from "../persistence/Transaction.ts"
import type { UserId } from "../shared/UserId.ts"
import type { Instance } from "./Instance.ts"
import type { RunningInstance } from "./InstanceDriver.ts"
import { InstanceNotFound, InstanceUnavailable } from "./InstanceErrors.ts"
import { type InstanceChanges, InstanceRepository } from "./InstanceRepository.ts"

/** Whether the instance of a row must run. An instance in error stays down. */
export const shouldBeUp = ({ desired, status }: Pick<Instance, "desired" | "status">): boolean =>
  desired === "up" && status !== "error"

/** Whether an agent runs or is starting. */
export const needsInstance = ({ status }: Pick<Agent, "status">): boolean => isUp(status) || status === "provisioning"

export const makeUpChanges = (
  { runtimeVersion, startedAt }: RunningInstance,
  status: Instance["status"]
): InstanceChanges => ({ desired: "up", status, startedAt, runtimeVersion })

/** Rows of an instance and its agents, for reconciliation. */
export class InstanceRecords extends Effect.Service<InstanceRecords>()("@berth/InstanceRecords", {
  effect: Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const instances = yield* InstanceRepository
    const users = yield* Users
    const transaction = yield* Transaction

    return {
      require: (userId: UserId) =>
        Effect.flatMap(
          instances.find(userId),
          Effect.mapError(() => new InstanceNotFound())
        ),
      requireOwner: (userId: UserId) =>
        Effect.filterOrFail(
          Effect.mapError(users.find(userId), () => new InstanceNotFound()),
          ({ suspendedAt }) => suspendedAt === null,
          () => new InstanceUnavailable({ reason: "the account is suspended" })
        ),
      isSuspended: (userId: UserId) => Effect.map(users.findSuspended([userId]), (suspended) => suspended.has(userId)),
      shouldBeUp: (userId: UserId) => Effect.map(instances.find(userId), Option.exists(shouldBeUp)),
      /** Applies an event to the agents and updates the instance's row in one transaction. */
      record: (userId: UserId, event: AgentLifecycleEvent, members: ReadonlyArray<Agent>, changes: InstanceChanges) =>
        transaction.run(Effect.zipRight(agents.applyEventToAll(members, event), instances.update(userId, changes)))
    }
  })
}) {}
