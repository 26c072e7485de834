import { Effect, Option } from "effect"
import { describeContainerEnd, findExitMessage } from "../ProcessExit.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import type { ContainerInspection, ContainerState } from "./EngineModels.ts"

/** Returns the line of the container's latest run that states the reason of its exit. */
export const readExitMessage = (engine: DockerEngine, { Id, State: { StartedAt } }: ContainerInspection) =>
  Effect.map(engine.readLog(Id, Math.floor(StartedAt.epochMillis / 1000)), (log) =>
    findExitMessage(Option.getOrElse(log, () => ""))
  )

export const describeContainerExit = (
  { Error: error, ExitCode, OOMKilled }: Pick<ContainerState, "Error" | "ExitCode" | "OOMKilled">,
  memoryMb: number,
  logLine: string
): string => describeContainerEnd({ error, exitCode: ExitCode, isOutOfMemory: OOMKilled }, memoryMb, logLine)
