import { Option } from "effect"
import { constants } from "node:os"
import { describeExit } from "../ProcessExit.ts"
import type { ContainerState } from "./EngineModels.ts"

/** A process that a signal ended has this exit code plus the signal's number. */
const signalBase = 128

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
