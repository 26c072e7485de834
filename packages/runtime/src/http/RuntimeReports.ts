import { RuntimeHealth, RuntimeStats, RuntimeStorage } from "@berth/api/runtime/RuntimeContract"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Effect } from "effect"
import { RuntimeAgents } from "../agents/RuntimeAgents.ts"
import { readProcessStats } from "../process/ProcessStats.ts"
import { measureAgentFiles } from "../skills/files/AgentFiles.ts"

export interface RuntimeIdentity {
  readonly runtimeVersion: string
  /** Epoch milliseconds. */
  readonly startedAt: number
}

/** The response of the health check. */
export const reportHealth = ({ runtimeVersion, startedAt }: RuntimeIdentity) =>
  Effect.flatMap(RuntimeAgents, ({ ids }) =>
    Effect.flatMap(ids, (agents) =>
      Effect.orDie(HttpServerResponse.schemaJson(RuntimeHealth)({ status: "ok", runtimeVersion, startedAt, agents }))
    )
  )

/** The response with the bytes of all agents' files. */
export const reportStorage = (agentsDirectory: string) =>
  Effect.flatMap(measureAgentFiles(agentsDirectory), (bytes) =>
    HttpServerResponse.schemaJson(RuntimeStorage)({ bytes })
  ).pipe(Effect.orDie)

/** The response with the figures of the process since the last reading. */
export const reportStats = Effect.flatMap(readProcessStats, (figures) =>
  Effect.orDie(HttpServerResponse.schemaJson(RuntimeStats)(figures))
)
