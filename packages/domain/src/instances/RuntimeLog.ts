import { DateTime, Order, Schema } from "effect"
import { AgentId } from "../shared/AgentId.ts"

export const LogLevel = Schema.Literal("debug", "info", "warning", "error").annotations({ identifier: "LogLevel" })
export type LogLevel = typeof LogLevel.Type

/** Origin of an entry: one agent, the runtime of all agents, or the host. */
export const LogSource = Schema.Literal("agent", "instance", "host").annotations({ identifier: "LogSource" })
export type LogSource = typeof LogSource.Type

export const RuntimeLogEntry = Schema.Struct({
  /** Stable while the entry is stored. */
  id: Schema.String,
  timestamp: Schema.DateTimeUtc,
  level: LogLevel,
  message: Schema.String,
  source: LogSource,
  /** Null for entries of the whole instance. */
  agentId: Schema.NullOr(AgentId),
  /** Trace of the runtime's entry, by which operators find the turn. */
  traceId: Schema.optionalWith(Schema.String, { exact: true })
}).annotations({ identifier: "RuntimeLogEntry" })
export type RuntimeLogEntry = typeof RuntimeLogEntry.Type

export interface RuntimeLogQuery {
  /** Selects the entries of this agent and of the whole instance; absent: of all agents. */
  readonly agentId?: AgentId | undefined
  readonly level?: LogLevel | undefined
  readonly limit: number
}

export const RuntimeLogPage = Schema.Struct({
  /** Newest first, at most `limit`. */
  entries: Schema.Array(RuntimeLogEntry),
  /** Count of all matches. */
  total: Schema.Int
})
export type RuntimeLogPage = typeof RuntimeLogPage.Type

/** Selects a page from a log in the order of its writing. */
export const selectLogPage = (log: ReadonlyArray<RuntimeLogEntry>, query: RuntimeLogQuery): RuntimeLogPage => {
  const matching = log.filter(
    ({ agentId, level }) =>
      (query.level === undefined || level === query.level) &&
      (query.agentId === undefined || agentId === null || agentId === query.agentId)
  )
  return { entries: matching.slice(-query.limit).toReversed(), total: matching.length }
}

const newestFirst = Order.mapInput(Order.reverse(DateTime.Order), ({ timestamp }: RuntimeLogEntry) => timestamp)

/** Merges two pages of the same query into the newest `limit` entries. */
export const mergeLogPages = (a: RuntimeLogPage, b: RuntimeLogPage, limit: number): RuntimeLogPage => ({
  entries: [...a.entries, ...b.entries].toSorted(newestFirst).slice(0, limit),
  total: a.total + b.total
})
