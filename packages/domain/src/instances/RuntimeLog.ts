import { Schema } from "effect"
import { AgentId } from "../shared/AgentId.ts"

export const LogLevel = Schema.Literal("debug", "info", "warning", "error").annotations({ identifier: "LogLevel" })
export type LogLevel = typeof LogLevel.Type

/** Who said it: the agent named beside it, the program that runs all agents of the instance, or the host about the cell. */
export const LogSource = Schema.Literal("agent", "instance", "host").annotations({ identifier: "LogSource" })
export type LogSource = typeof LogSource.Type

export const RuntimeLogEntry = Schema.Struct({
  /** The same at every call for as long as the entry is kept. */
  id: Schema.String,
  timestamp: Schema.DateTimeUtc,
  level: LogLevel,
  message: Schema.String,
  source: LogSource,
  /** Null for what concerns the whole instance. */
  agentId: Schema.NullOr(AgentId)
}).annotations({ identifier: "RuntimeLogEntry" })
export type RuntimeLogEntry = typeof RuntimeLogEntry.Type

export interface RuntimeLogQuery {
  /** Entries of this agent and those of the whole instance; of every agent when absent. */
  readonly agentId?: AgentId | undefined
  /** Entries of this level alone. */
  readonly level?: LogLevel | undefined
  readonly limit: number
}

export const RuntimeLogPage = Schema.Struct({
  /** Newest first, at most `limit`. */
  entries: Schema.Array(RuntimeLogEntry),
  /** How many there are in all. */
  total: Schema.Int
})
export type RuntimeLogPage = typeof RuntimeLogPage.Type

/** What a query asks for of a log in the order in which it was written. */
export const selectLogPage = (log: ReadonlyArray<RuntimeLogEntry>, query: RuntimeLogQuery): RuntimeLogPage => {
  const asked = log.filter(
    ({ agentId, level }) =>
      (query.level === undefined || level === query.level) &&
      (query.agentId === undefined || agentId === null || agentId === query.agentId)
  )
  return { entries: asked.slice(-query.limit).toReversed(), total: asked.length }
}
