import { Effect } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import { changeMcpServers, type McpServerInput } from "./McpServer.ts"
import { McpServerRepository } from "./McpServerRepository.ts"

/** MCP servers of agents, configured by their owners. */
export class McpServers extends Effect.Service<McpServers>()("@berth/McpServers", {
  effect: Effect.gen(function* () {
    const { list, listAgents, replace: store } = yield* McpServerRepository

    /** Joins the running transaction. False for a deleted agent. */
    const replace = Effect.fn("McpServers.replace")(function* (
      agentId: AgentId,
      inputs: ReadonlyArray<McpServerInput>,
      rules: { readonly httpsOnly: boolean }
    ) {
      return yield* store(agentId, yield* changeMcpServers(yield* list(agentId), inputs, rules))
    })

    return { list, listAgents, replace }
  })
}) {}
