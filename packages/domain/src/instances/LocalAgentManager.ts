import { Effect, Layer } from "effect"
import { AgentManager } from "./AgentManager.ts"
import { CellKeeper } from "./CellKeeper.ts"
import { DepartedOwners } from "./DepartedOwners.ts"
import { InstanceDriver } from "./InstanceDriver.ts"

/** The agent manager in the backend's own process. */
export const layer = Layer.effect(
  AgentManager,
  Effect.gen(function* () {
    const { chat, deploy, giveUp, reconfigure, repair, restart, start, stop, update } = yield* CellKeeper
    const { remove } = yield* DepartedOwners
    const { logs, stats } = yield* InstanceDriver
    return AgentManager.of({
      chat,
      deploy,
      giveUp,
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
