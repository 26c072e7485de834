import { Context, type DateTime, type Effect } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { McpServer, StoredMcpServer } from "./McpServer.ts"

/** MCP servers of agents, by name. */
export class McpServerRepository extends Context.Tag("@berth/McpServerRepository")<
  McpServerRepository,
  {
    readonly list: (agentId: AgentId) => Effect.Effect<ReadonlyArray<StoredMcpServer>>
    /** Joins the running transaction. False when the agent is gone. */
    readonly replace: (agentId: AgentId, servers: ReadonlyArray<McpServer>) => Effect.Effect<boolean>
    /** The owner's agents that have servers. */
    readonly listAgents: (ownerId: UserId) => Effect.Effect<ReadonlySet<AgentId>>
    /** Removes those of an owner's agents that were changed at a time or later; returns their number. */
    readonly removeSince: (ownerId: UserId, since: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
