import { DateTime, Order, Schema } from "effect"
import { AgentId } from "../shared/AgentId.ts"

export const LogLevel = Schema.Literal("debug", "info", "warning", "error").annotations({ identifier: "LogLevel" })
export type LogLevel = typeof LogLevel.Type

/** The origin of an entry: one agent, the runtime of all agents, or the host. */
export const LogSource = Schema.Literal("agent", "instance", "host").annotations({ identifier: "LogSource" })
export type LogSource = typeof LogSource.Type

export const RuntimeLogEntry = Schema.Struct({
  /** Stable while the entry is kept. */
  id: Schema.String,
  timestamp: Schema.DateTimeUtc,
  level: LogLevel,
  message: Schema.String,
  source: LogSource,
  /** Null for entries of the whole instance. */
  agentId: Schema.NullOr(AgentId),
  /** The trace in which a runtime logged, by which operators find the turn. */
  traceId: Schema.optionalWith(Schema.String, { exact: true })
}).annotations({ identifier: "RuntimeLogEntry" })
export type RuntimeLogEntry = typeof RuntimeLogEntry.Type

export interface RuntimeLogQuery {
  /** Entries of this agent and of the whole instance. Absent: of every agent. */
  readonly agentId?: AgentId | undefined
  readonly level?: LogLevel | undefined
  readonly limit: number
}

export const RuntimeLogPage = Schema.Struct({
  /** Newest first, at most `limit`. */
  entries: Schema.Array(RuntimeLogEntry),
  /** The number of matching entries. */
  total: Schema.Int
})
export type RuntimeLogPage = typeof RuntimeLogPage.Type

/** Selects from a log in written order. */
export const selectLogPage = (log: ReadonlyArray<RuntimeLogEntry>, query: RuntimeLogQuery): RuntimeLogPage => {
  const matching = log.filter(
    ({ agentId, level }) =>
      (query.level === undefined || level === query.level) &&
      (query.agentId === undefined || agentId === null || agentId === query.agentId)
  )
  return { entries: matching.slice(-query.limit).toReversed(), total: matching.length }
}

const newestFirst = Order.mapInput(Order.reverse(DateTime.Order), ({ timestamp }: RuntimeLogEntry) => timestamp)

/** The newest `limit` entries of two pages with the same query. */
export const mergeLogPages = (one: RuntimeLogPage, other: RuntimeLogPage, limit: number): RuntimeLogPage => ({
  entries: [...one.entries, ...other.entries].toSorted(newestFirst).slice(0, limit),
  total: one.total + other.total
})
