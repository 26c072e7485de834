import type { RuntimeLogEntry, LogLevel } from "@berth/domain/instances/RuntimeLog"
import { DateTime, Option, Schema } from "effect"
import { createHash } from "node:crypto"
import { AgentId } from "@berth/domain/shared/AgentId"

/** A line of a runtime's log; what else stands in it is for operators. */
const LogLine = Schema.parseJson(
  Schema.Struct({
    level: Schema.String,
    timestamp: Schema.DateTimeUtc,
    message: Schema.String,
    agentId: Schema.optional(AgentId),
    /** Why, where the message alone does not say. */
    reason: Schema.optional(Schema.String),
    cause: Schema.optional(Schema.String),
    source: Schema.optional(Schema.Literal("host"))
  })
)
type LogLine = typeof LogLine.Type
const decode = Schema.decodeOption(LogLine)

const maximumMessageLength = 4_000

const levels: Readonly<Record<string, LogLevel>> = {
  trace: "debug",
  debug: "debug",
  info: "info",
  warn: "warning",
  warning: "warning",
  error: "error",
  fatal: "error"
}

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22)

const messageOf = ({ cause, message, reason }: LogLine): string =>
  [message, reason, cause?.split("\n")[0]]
    .filter((part) => part !== undefined && part !== "")
    .join(": ")
    .slice(0, maximumMessageLength)

/** Nobody says how bad a line without a level is, but a crash has its words. */
const guessLevel = (text: string): LogLevel => (/error|fatal|exception|cannot|failed/i.test(text) ? "error" : "info")

/**
 * A cell's log as entries, oldest first. An id is made of the line itself, so it survives that the log is cut off at its
 * beginning. What has no date of its own (a crash, a foreign print) is one entry at the time of the line before; what stands
 * before the first dated line is the rest of something that was cut off, and is left out.
 */
export const parseLogEntries = (text: string): ReadonlyArray<RuntimeLogEntry> => {
  const entries: Array<RuntimeLogEntry> = []
  const seen = new Map<string, number>()
  let before: { readonly raw: string; readonly timestamp: DateTime.Utc } | undefined
  let undated: Array<string> = []

  const idOf = (raw: string): string => {
    const times = seen.get(raw) ?? 0
    seen.set(raw, times + 1)
    return `log_${digest(times === 0 ? raw : `${raw}\n${times}`)}`
  }
  const flush = () => {
    const message = undated.join("\n").slice(0, maximumMessageLength)
    undated = []
    if (before === undefined || message === "") return
    entries.push({
      // Not of the text, which may go on.
      id: idOf(`after ${before.raw}`),
      timestamp: before.timestamp,
      level: guessLevel(message),
      message,
      source: "instance",
      agentId: null
    })
  }

  // The last piece is empty, or a line that is being written.
  for (const raw of text.split("\n").slice(0, -1)) {
    const line = decode(raw)
    if (Option.isNone(line)) {
      if (raw.trim() !== "") undated.push(raw.trimEnd())
      continue
    }
    flush()
    const { agentId, level, source, timestamp } = line.value
    before = { raw, timestamp }
    entries.push({
      id: idOf(raw),
      timestamp,
      level: levels[level.toLowerCase()] ?? "info",
      message: messageOf(line.value),
      source: source ?? (agentId === undefined ? "instance" : "agent"),
      agentId: agentId ?? null
    })
  }
  flush()
  return entries
}

/** What the host says about a cell, as a line of its log. */
export const formatHostLine = (level: LogLevel, timestamp: DateTime.Utc, message: string): string =>
  `${JSON.stringify({ level, timestamp: DateTime.formatIso(timestamp), message, source: "host" })}\n`
