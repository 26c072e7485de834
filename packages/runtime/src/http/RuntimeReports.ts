import type { RuntimeHealth, RuntimeStorage } from "@berth/api/runtime/RuntimeContract"
import { Effect } from "effect"
import { RuntimeAgents } from "../agents/RuntimeAgents.ts"
import { measureAgentFiles } from "../skills/files/AgentFiles.ts"

export interface RuntimeIdentity {
  readonly runtimeVersion: string
  /** Epoch milliseconds. */
  readonly startedAt: number
}

/** Returns the body of the health check. */
export const reportHealth = ({ runtimeVersion, startedAt }: RuntimeIdentity) =>
  Effect.flatMap(RuntimeAgents, ({ ids }) =>
    Effect.map(ids, (agents): RuntimeHealth => ({ status: "ok", runtimeVersion, startedAt, agents }))
  )

/** Returns the bytes of all agents' files. */
export const reportStorage = (agentsDirectory: string) =>
  Effect.orDie(Effect.map(measureAgentFiles(agentsDirectory), (bytes): typeof RuntimeStorage.Type => ({ bytes })))
