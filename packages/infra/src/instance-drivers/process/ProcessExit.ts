import { Option, Schema } from "effect"

/** How a process ended, as far as its parent learns it. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: string | null
}

const LogLine = Schema.parseJson(
  Schema.Struct({ level: Schema.String, message: Schema.String, cause: Schema.optional(Schema.String) })
)
const decode = Schema.decodeUnknownOption(LogLine)

const rankLine = (line: string): number => (/"level":"(error|fatal)"|FATAL|Error:|ERR_/.test(line) ? 1 : 0)

/** A log line in its own words; nothing for one that tells of the ordinary. */
const messageOf = (line: string): string =>
  Option.match(decode(line), {
    onNone: () => line,
    onSome: ({ cause, level, message }) => {
      if (level === "info" || level === "debug") return ""
      return cause === undefined ? message : `${message}: ${cause.split("\n")[0] ?? ""}`
    }
  })

/** The most telling line of the end of a cell's log; of lines that tell as much, the last. Empty when there is none. */
export const findExitMessage = (log: string): string => {
  const lines = log
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(-40)
  return messageOf(lines.findLast((line) => rankLine(line) > 0) ?? lines.at(-1) ?? "").slice(0, 300)
}

/** Why a cell is no more, in words. `end` is none for a process that was somebody else's child. */
export const describeExit = (end: Option.Option<ProcessExit>, words: string): string => {
  const how = Option.match(end, {
    onNone: () => "it is gone",
    onSome: ({ code, signal }) => (signal === null ? `it ended with code ${code ?? "unknown"}` : `${signal} ended it`)
  })
  return words === "" ? how : `${how}; its last words: ${words}`
}
