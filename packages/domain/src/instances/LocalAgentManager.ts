import { Effect, Layer } from "effect"
import { AgentManager } from "./AgentManager.ts"
import { CellKeeper } from "./CellKeeper.ts"

/** The agent manager in the backend's own process. */
export const layer = Layer.effect(
  AgentManager,
  Effect.map(CellKeeper, ({ chat, deploy, giveUp, reconfigure, repair, restart, start, stop, update }) =>
    AgentManager.of({ chat, deploy, giveUp, reconfigure, repair, restart, start, stop, update })
  )
)
