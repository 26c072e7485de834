import { Context, type DateTime, type Effect } from "effect"
import type { ConfigurationNotApplied } from "./AgentErrors.ts"
import type { UserId } from "../shared/UserId.ts"

export interface AgentInstanceDescription {
  /** DNS label, also before the instance exists. */
  readonly subdomain: string
  /** Null while the instance is down. */
  readonly startedAt: DateTime.Utc | null
  /** Null before the first start. */
  readonly runtimeVersion: string | null
}

/** The instances that agents run in, as far as agents need them. */
export class AgentInstances extends Context.Tag("@berth/AgentInstances")<
  AgentInstances,
  {
    /** Creates the owner's instance on the first call. Joins the running transaction. */
    readonly ensure: (ownerId: UserId) => Effect.Effect<void>
    readonly describe: (ownerId: UserId) => Effect.Effect<AgentInstanceDescription>
    /** Configures a running instance with the agents of the rows. Idempotent. */
    readonly reconfigure: (ownerId: UserId) => Effect.Effect<void, ConfigurationNotApplied>
  }
>() {}
