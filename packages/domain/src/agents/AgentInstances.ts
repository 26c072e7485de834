import { Context, type DateTime, type Effect } from "effect"
import type { ConfigurationNotApplied } from "./AgentErrors.ts"
import type { UserId } from "../shared/UserId.ts"

interface AgentInstanceDescription {
  /** DNS label; set before the instance exists. */
  readonly subdomain: string
  /** Null while the instance is down. */
  readonly startedAt: DateTime.Utc | null
  /** Null before the first start. */
  readonly runtimeVersion: string | null
}

/** The operations on instances that agents require. */
export class AgentInstances extends Context.Tag("@berth/AgentInstances")<
  AgentInstances,
  {
    /** Creates the owner's instance if absent. Joins the running transaction. */
    readonly ensure: (ownerId: UserId) => Effect.Effect<void>
    readonly describe: (ownerId: UserId) => Effect.Effect<AgentInstanceDescription>
    /** Applies the stored agents to a running instance. Idempotent. */
    readonly reconfigure: (ownerId: UserId) => Effect.Effect<void, ConfigurationNotApplied>
  }
>() {}
