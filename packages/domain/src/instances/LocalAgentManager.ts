import { Effect, Layer, Option } from "effect"
import type { UserId } from "../shared/UserId.ts"
import { AgentManager } from "./AgentManager.ts"
import { AgentRuntime } from "./AgentRuntime.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import { InstanceReconciler } from "./InstanceReconciler.ts"
import { OrphanCleanup } from "./OrphanCleanup.ts"
import { InstanceDriver, InstanceHostUnavailable } from "./InstanceDriver.ts"
import { BackendUnavailable, InstanceUnavailable } from "./InstanceErrors.ts"

const isHostUnavailable = (error: unknown): error is InstanceHostUnavailable => error instanceof InstanceHostUnavailable
const toBackendUnavailable = ({ reason }: InstanceHostUnavailable) => new BackendUnavailable({ reason })

/** Wraps a method so that an unavailable host is reported as an unavailable backend. */
const reportHost =
  <Args extends ReadonlyArray<unknown>, A, E, R>(
    method: (...args: Args) => Effect.Effect<A, E | InstanceHostUnavailable, R>
  ) =>
  (...args: Args) =>
    Effect.catchIf(method(...args), isHostUnavailable, toBackendUnavailable)

export const layer = Layer.effect(
  AgentManager,
  Effect.gen(function* () {
    const reconciler = yield* InstanceReconciler
    const { remove } = yield* OrphanCleanup
    const { inspect, logs, stats } = yield* InstanceDriver
    const instances = yield* InstanceRepository
    const runtime = yield* AgentRuntime

    const measureStorage = Effect.fn("AgentManager.measureStorage")(function* (userId: UserId) {
      const running = yield* inspect(userId)
      if (Option.isNone(running)) return Option.none()
      const token = yield* instances.ensureRuntimeToken(userId)
      return yield* Effect.mapError(
        runtime.measureStorage({ instance: running.value, token }),
        ({ reason }) => new InstanceUnavailable({ reason })
      )
    })

    return AgentManager.of({
      activate: reportHost(reconciler.activate),
      chat: reportHost(reconciler.chat),
      deploy: reportHost(reconciler.deploy),
      failDeployment: reportHost(reconciler.failDeployment),
      logs: reportHost(logs),
      measureStorage: reportHost(measureStorage),
      reconfigure: reportHost(reconciler.reconfigure),
      remove: reportHost(remove),
      repair: reportHost(reconciler.repair),
      restart: reportHost(reconciler.restart),
      start: reportHost(reconciler.start),
      stats: reportHost(stats),
      stop: reportHost(reconciler.stop),
      update: reportHost(reconciler.update)
    })
  })
)
