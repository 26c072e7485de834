import { Context, type DateTime, type Effect } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { McpServer, StoredMcpServer } from "./McpServer.ts"

/** MCP servers of agents, by name. */
export class McpServerRepository extends Context.Tag("@berth/McpServerRepository")<
  McpServerRepository,
  {
    readonly list: (agentId: AgentId) => Effect.Effect<ReadonlyArray<StoredMcpServer>>
    /** Joins the running transaction. False for a deleted agent. */
    readonly replace: (agentId: AgentId, servers: ReadonlyArray<McpServer>) => Effect.Effect<boolean>
    /** Returns the owner's agents that have servers. */
    readonly listAgents: (ownerId: UserId) => Effect.Effect<ReadonlySet<AgentId>>
    /** Removes servers of the owner's agents changed at `since` or later; returns their number. */
    readonly removeSince: (ownerId: UserId, since: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
