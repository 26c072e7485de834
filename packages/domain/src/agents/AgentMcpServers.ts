import { Effect } from "effect"
import { AccountPolicy } from "../accounts/AccountPolicy.ts"
import type { McpServerInput } from "../skills/mcp/McpServer.ts"
import { McpServers } from "../skills/mcp/McpServers.ts"
import type { Agent } from "./Agent.ts"
import { AgentNotFound } from "./AgentErrors.ts"
import { makeReconfiguringChange } from "./ReconfiguringChange.ts"

export class AgentMcpServers extends Effect.Service<AgentMcpServers>()("@berth/AgentMcpServers", {
  dependencies: [McpServers.Default],
  effect: Effect.gen(function* () {
    const servers = yield* McpServers
    const { appUrl } = yield* AccountPolicy
    const store = yield* makeReconfiguringChange

    const list = Effect.fn("AgentMcpServers.list")((agent: Agent) => servers.list(agent.id))

    const replace = Effect.fn("AgentMcpServers.replace")(function* (
      agent: Agent,
      inputs: ReadonlyArray<McpServerInput>
    ) {
      const rules = { httpsOnly: appUrl.protocol === "https:" }
      const replaced = yield* store(agent, servers.replace(agent.id, inputs, rules))
      if (!replaced) return yield* new AgentNotFound()
      return yield* servers.list(agent.id)
    })

    return { list, replace }
  })
}) {}
