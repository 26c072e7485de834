import type { RuntimeLogEntry, LogLevel } from "@berth/domain/instances/RuntimeLog"
import { DateTime, Option, Schema } from "effect"
import { createHash } from "node:crypto"
import { AgentId } from "@berth/domain/shared/AgentId"

/** Members of a runtime's log line that users see. */
const LogLine = Schema.parseJson(
  Schema.Struct({
    level: Schema.String,
    timestamp: Schema.DateTimeUtc,
    message: Schema.String,
    agentId: Schema.optional(AgentId),
    reason: Schema.optional(Schema.String),
    model: Schema.optional(Schema.String),
    provider: Schema.optional(Schema.String),
    cause: Schema.optional(Schema.String),
    source: Schema.optional(Schema.Literal("host")),
    trace_id: Schema.optional(Schema.String)
  })
)
type LogLine = typeof LogLine.Type
const decode = Schema.decodeOption(LogLine)

const traceIdPattern = /^[\da-f]{32}$/

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

const messageOf = ({ cause, message, model, provider, reason }: LogLine): string =>
  [
    message,
    reason,
    model === undefined || provider === undefined ? model : `${model} (${provider})`,
    cause?.split("\n")[0]
  ]
    .filter((part) => part !== undefined && part !== "")
    .join(": ")
    .slice(0, maximumMessageLength)

/** Lines without a level can be those of a crash. */
const guessLevel = (text: string): LogLevel => (/error|fatal|exception|cannot|failed/i.test(text) ? "error" : "info")

/**
 * Parses an instance's log, oldest entry first. An id is derived from the line, so it survives rotation. Consecutive
 * undated lines, for example of a crash, become one entry with the time of the previous line; without a previous line
 * they are dropped.
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
      // The text may grow, so the id is derived from the previous line.
      id: idOf(`after ${before.raw}`),
      timestamp: before.timestamp,
      level: guessLevel(message),
      message,
      source: "instance",
      agentId: null
    })
  }

  // The last part is empty or an incomplete line.
  for (const raw of text.split("\n").slice(0, -1)) {
    const line = decode(raw)
    if (Option.isNone(line)) {
      if (raw.trim() !== "") undated.push(raw.trimEnd())
      continue
    }
    flush()
    const { agentId, level, source, timestamp, trace_id } = line.value
    before = { raw, timestamp }
    entries.push({
      id: idOf(raw),
      timestamp,
      level: levels[level.toLowerCase()] ?? "info",
      message: messageOf(line.value),
      source: source ?? (agentId === undefined ? "instance" : "agent"),
      agentId: agentId ?? null,
      ...(trace_id === undefined || !traceIdPattern.test(trace_id) ? {} : { traceId: trace_id })
    })
  }
  flush()
  return entries
}

/** Formats a message of the host as a line of the instance's log. */
export const formatHostLine = (level: LogLevel, timestamp: DateTime.Utc, message: string): string =>
  `${JSON.stringify({ level, timestamp: DateTime.formatIso(timestamp), message, source: "host" })}\n`
