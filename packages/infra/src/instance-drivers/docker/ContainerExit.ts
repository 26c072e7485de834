import { Effect, Option } from "effect"
import { constants } from "node:os"
import { describeExit, findExitMessage } from "../ProcessExit.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import type { ContainerInspection, ContainerState } from "./EngineModels.ts"

/** A process that a signal ended has this exit code plus the signal's number. */
const signalBase = 128

/** The line of the container's latest run that tells why it exited. */
export const readExitMessage = (engine: DockerEngine, { Id, State: { StartedAt } }: ContainerInspection) =>
  Effect.map(engine.readLog(Id, Math.floor(Date.parse(StartedAt) / 1000)), (log) =>
    findExitMessage(Option.getOrElse(log, () => ""))
  )

/** Describes the exit of a container. */
export const describeContainerExit = (
  { Error: error, ExitCode, OOMKilled }: Pick<ContainerState, "Error" | "ExitCode" | "OOMKilled">,
  memoryMb: number,
  logLine: string
): string => {
  if (OOMKilled)
    return `it needed more than the ${memoryMb} MB of memory it may hold, and the kernel killed it (exit code ${ExitCode})`
  const signal = Object.entries(constants.signals).find(([, number]) => number === ExitCode - signalBase)?.[0] ?? null
  return describeExit(Option.some({ code: ExitCode, signal }), error === "" ? logLine : error)
}
