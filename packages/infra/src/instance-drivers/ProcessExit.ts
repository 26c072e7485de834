import { Option, Schema } from "effect"
import { constants } from "node:os"

/** The exit of a process as its parent observes it. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: string | null
}

const LogLine = Schema.parseJson(
  Schema.Struct({ level: Schema.String, message: Schema.String, cause: Schema.optional(Schema.String) })
)
const decode = Schema.decodeUnknownOption(LogLine)

const rankLine = (line: string): number => (/"level":"(error|fatal)"|FATAL|Error:|ERR_/.test(line) ? 1 : 0)

/** The message of a log line; empty below the level of a warning. */
const messageOf = (line: string): string =>
  Option.match(decode(line), {
    onNone: () => line,
    onSome: ({ cause, level, message }) => {
      if (level === "info" || level === "debug") return ""
      return cause === undefined ? message : `${message}: ${cause.split("\n")[0] ?? ""}`
    }
  })

/** The last error line at the end of an instance's log, else the last line. Empty when there is none. */
export const findExitMessage = (log: string): string => {
  const lines = log
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(-40)
  return messageOf(lines.findLast((line) => rankLine(line) > 0) ?? lines.at(-1) ?? "").slice(0, 300)
}

/** Describes an exit. `end` is none for an adopted process, whose exit code is unknown. */
export const describeExit = (exit: Option.Option<ProcessExit>, logLine: string): string => {
  const how = Option.match(exit, {
    onNone: () => "the process is gone",
    onSome: ({ code, signal }) => (signal === null ? `exit code ${code ?? "unknown"}` : `signal ${signal}`)
  })
  return logLine === "" ? how : `${how}; its last log line: ${logLine}`
}

/** The end of a container's main process. */
export interface ContainerEnd {
  readonly exitCode: number
  readonly isOutOfMemory: boolean
  /** The host's own reason; empty when there is none. */
  readonly error: string
}

/** A process that a signal ended has this exit code plus the signal's number. */
const signalBase = 128

/** Describes the exit of a container. */
export const describeContainerEnd = (
  { error, exitCode, isOutOfMemory }: ContainerEnd,
  memoryMb: number,
  logLine: string
): string => {
  if (isOutOfMemory)
    return `it needed more than the ${memoryMb} MB of memory it may hold, and the kernel killed it (exit code ${exitCode})`
  const signal = Object.entries(constants.signals).find(([, number]) => number === exitCode - signalBase)?.[0] ?? null
  return describeExit(Option.some({ code: exitCode, signal }), error === "" ? logLine : error)
}
