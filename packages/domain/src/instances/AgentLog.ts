import { Context, type DateTime, Duration, type Effect } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"
import type { LogLevel, RuntimeLogPage, RuntimeLogQuery } from "./RuntimeLog.ts"

export const agentLogRetention = Duration.days(30)

/** Entries of agents' logs from outside of their instances, for example from messaging channels. */
export class AgentLog extends Context.Tag("@berth/AgentLog")<
  AgentLog,
  {
    /** Joins the running transaction. No effect for deleted agents. */
    readonly append: (agentId: AgentId, level: LogLevel, message: string) => Effect.Effect<void>
    /** Newest first. */
    readonly read: (ownerId: UserId, query: RuntimeLogQuery) => Effect.Effect<RuntimeLogPage>
    /** Deletes entries older than `before`; returns their number. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
