import { Effect, Layer } from "effect"
import { AgentManager } from "./AgentManager.ts"
import { InstanceReconciler } from "./InstanceReconciler.ts"
import { OrphanCleanup } from "./OrphanCleanup.ts"
import { InstanceDriver } from "./InstanceDriver.ts"

/** The agent manager in the backend's own process. */
export const layer = Layer.effect(
  AgentManager,
  Effect.gen(function* () {
    const { activate, chat, deploy, failDeployment, reconfigure, repair, restart, start, stop, update } =
      yield* InstanceReconciler
    const { remove } = yield* OrphanCleanup
    const { logs, stats } = yield* InstanceDriver
    return AgentManager.of({
      activate,
      chat,
      deploy,
      failDeployment,
      logs,
      reconfigure,
      remove,
      repair,
      restart,
      start,
      stats,
      stop,
      update
    })
  })
)
