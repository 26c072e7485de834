import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import { AgentMcpServers } from "@berth/domain/agents/AgentMcpServers"
import { maskMcpUrl, type StoredMcpServer } from "@berth/domain/skills/mcp/McpServer"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

const present = (servers: ReadonlyArray<StoredMcpServer>) => ({
  servers: servers.map(({ headers, url, ...server }) => ({
    ...server,
    url: maskMcpUrl(url),
    headers: Object.keys(headers)
  })),
  count: servers.length
})

export const layer = group(WebApi, "mcpServers", (handlers) =>
  Effect.map(AgentMcpServers, (servers) =>
    handlers
      .handle("list", () => Effect.flatMap(OwnedAgent, ({ agent }) => Effect.map(servers.list(agent), present)))
      .handle("replace", ({ payload }) =>
        Effect.flatMap(OwnedAgent, ({ agent }) => Effect.map(servers.replace(agent, payload.servers), present))
      )
  )
)
