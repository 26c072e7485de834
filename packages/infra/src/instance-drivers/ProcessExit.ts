import { Option, Schema } from "effect"
import { constants } from "node:os"

/** Exit of a process as observed by its parent. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: string | null
}

const LogLine = Schema.parseJson(
  Schema.Struct({ level: Schema.String, message: Schema.String, cause: Schema.optional(Schema.String) })
)
const decode = Schema.decodeUnknownOption(LogLine)

const rankLine = (line: string): number => (/"level":"(error|fatal)"|FATAL|Error:|ERR_/.test(line) ? 1 : 0)

/** Returns the message of a log line; empty below the level of warnings. */
const messageOf = (line: string): string =>
  Option.match(decode(line), {
    onNone: () => line,
    onSome: ({ cause, level, message }) => {
      if (level === "info" || level === "debug") return ""
      return cause === undefined ? message : `${message}: ${cause.split("\n")[0] ?? ""}`
    }
  })

/** Returns the last error line at the end of an instance's log, else the last line. Empty without lines. */
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

/** End of a container's main process. */
export interface ContainerEnd {
  readonly exitCode: number
  readonly isOutOfMemory: boolean
  /** The host's reason; empty if there is none. */
  readonly error: string
}

/** The exit code of a process ended by a signal is this plus the signal's number. */
const signalBase = 128

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
