import { type DateTime, Effect, Option, Queue, Stream } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { isUp } from "../agents/AgentStatus.ts"
import type { UserId } from "../shared/UserId.ts"
import { CrashHistory } from "./CrashHistory.ts"
import { InstanceDriver } from "./InstanceDriver.ts"
import type { Instance } from "./Instance.ts"
import { InstanceRecords, needsInstance, shouldBeUp } from "./InstanceRecords.ts"
import { InstanceRepository } from "./InstanceRepository.ts"

/** Whether the rows record a stop; the instance may still run. */
export const isStopRecorded = ({ desired, status }: Pick<Instance, "desired" | "status">): boolean =>
  status === "stopped" || status === "error" || (desired === "asleep" && status !== "provisioning")

/** Stops instances and records it. */
export class InstanceShutdown extends Effect.Service<InstanceShutdown>()("@berth/InstanceShutdown", {
  dependencies: [InstanceRecords.Default, CrashHistory.Default],
  effect: Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const instances = yield* InstanceRepository
    const driver = yield* InstanceDriver
    const records = yield* InstanceRecords
    const crashes = yield* CrashHistory
    const unfinished = yield* Queue.unbounded<UserId>()

    const stopInstance = (userId: UserId) =>
      Effect.tapErrorTag(driver.stop(userId), "InstanceHostUnavailable", ({ reason }) =>
        Effect.logWarning("Instance host unavailable, stop postponed").pipe(
          Effect.annotateLogs({ userId, reason }),
          Effect.zipRight(Queue.offer(unfinished, userId))
        )
      )

    /** Stops the instance and its agents. The caller holds the owner's lock. */
    const stopAll = Effect.fnUntraced(function* (userId: UserId) {
      yield* stopInstance(userId)
      yield* records.record(userId, "stopped", yield* agents.listOwned(userId), { status: "stopped", startedAt: null })
    })

    /** Stops an instance that no agent needs; agents keep their status. The caller holds the owner's lock. */
    const stopUnused = Effect.fnUntraced(function* (userId: UserId, status: "stopped" | "error") {
      yield* instances.update(userId, { desired: "down" })
      yield* stopInstance(userId)
      yield* instances.update(userId, { status, startedAt: null })
    })

    const stop = Effect.fn("InstanceShutdown.stop")(
      function* (userId: UserId) {
        yield* records.require(userId)
        // The desired state is committed first, so that after a crash the next backend completes the stop.
        yield* instances.update(userId, { desired: "down" })
        yield* stopAll(userId)
      },
      (work, userId) => instances.serialized(userId, work)
    )

    /** Stops an instance unused since `since`; agents keep their status. */
    const sleep = Effect.fn("InstanceShutdown.sleep")(
      function* (userId: UserId, since: DateTime.Utc) {
        if (!(yield* instances.markAsleep(userId, since))) return
        yield* stopInstance(userId)
        yield* Effect.logInfo("Idle instance stopped").pipe(Effect.annotateLogs({ userId }))
      },
      (work, userId) => instances.serialized(userId, work)
    )

    /**
     * Stops the instance of a suspended account; the first message after the suspension starts it. The caller holds the
     * owner's lock.
     */
    const suspend = Effect.fnUntraced(function* (userId: UserId) {
      const row = yield* instances.find(userId)
      if (Option.exists(row, ({ desired }) => desired === "up"))
        yield* instances.update(userId, { desired: "asleep", startedAt: null })
      yield* stopInstance(userId)
    })

    /** An instance that never ran fails with its first agent. The job of an agent in provisioning is redelivered. */
    const finishFailedDeployment = Effect.fnUntraced(function* (userId: UserId) {
      const owned = yield* agents.listOwned(userId)
      if (!owned.some(needsInstance)) yield* stopUnused(userId, owned.length === 0 ? "stopped" : "error")
    })

    /** Completes a stop or start that a crashed backend left incomplete, so that no undesired instance runs. */
    const finishStop = Effect.fn("InstanceShutdown.finishStop")(function* (userId: UserId) {
      yield* instances.serialized(
        userId,
        Effect.flatMap(
          instances.find(userId),
          Option.match({
            onNone: () => Effect.void,
            onSome: (instance) => {
              if (instance.status === "provisioning") return finishFailedDeployment(userId)
              if (shouldBeUp(instance)) return Effect.void
              return isStopRecorded(instance) ? stopInstance(userId) : stopAll(userId)
            }
          })
        )
      )
    })

    const failDeployment = Effect.fn("InstanceShutdown.failDeployment")(function* (agentId: AgentId, reason: string) {
      const found = yield* agents.find(agentId)
      if (Option.isNone(found)) return
      yield* instances.serialized(
        found.value.ownerId,
        Effect.gen(function* () {
          // Read again under the lock, since a deployment in progress may have succeeded.
          const agent = yield* agents.find(agentId)
          if (Option.isNone(agent) || agent.value.status !== "provisioning") return
          yield* agents.applyEvent(agent.value, "deployment-failed")
          yield* Effect.logError("Agent provisioning failed").pipe(Effect.annotateLogs({ agentId, reason }))
          const { ownerId } = agent.value
          if ((yield* agents.listOwned(ownerId)).some(needsInstance)) return
          // An instance that never ran fails with its first agent.
          const failed = Option.exists(yield* instances.find(ownerId), ({ status }) => status === "provisioning")
          yield* stopUnused(ownerId, failed ? "error" : "stopped")
        })
      )
    })

    /** Ends the restarts of an instance that crashed too often; the instance and its agents fail. */
    const abandon = Effect.fn("InstanceShutdown.abandon")(
      function* (userId: UserId, reason: string) {
        // Read again under the lock, since the owner may have stopped or restarted it.
        if (!(yield* records.shouldBeUp(userId)) || (yield* crashes.isEmpty(userId))) return
        yield* Effect.logError("Instance abandoned after repeated crashes").pipe(
          Effect.annotateLogs({ userId, reason })
        )
        yield* stopInstance(userId)
        const members = (yield* agents.listOwned(userId)).filter(({ status }) => isUp(status))
        yield* records.record(userId, "instance-lost", members, { status: "error", startedAt: null })
      },
      (work, userId) => instances.serialized(userId, work)
    )

    return {
      stop,
      suspend,
      sleep,
      stopUnused,
      finishStop,
      failDeployment,
      abandon,
      /** Owners of instances that still run because their host was unavailable. Single subscriber. */
      unfinished: Stream.fromQueue(unfinished)
    }
  })
}) {}
