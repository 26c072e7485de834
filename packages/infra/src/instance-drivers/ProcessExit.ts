import { Option, Schema } from "effect"

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
