import { Cache, Data, Effect, Fiber } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import { McpCallFailed, McpClient } from "./McpClient.ts"
import { McpServerRepository } from "./McpServerRepository.ts"
import { declareMcpTools, limitMcpTools, type McpTool } from "./McpTool.ts"

/** Cache key: one version of a server's configuration. */
interface ListKey {
  readonly agentId: AgentId
  readonly server: string
  readonly updatedAt: number
}

/** Tools of a server, or the failure to list them. */
interface Listing {
  readonly tools: ReadonlyArray<McpTool>
  readonly failure?: string
}

/** Lists and calls the tools of agents' MCP servers. */
export class McpTools extends Effect.Service<McpTools>()("@berth/McpTools", {
  effect: Effect.gen(function* () {
    const repository = yield* McpServerRepository
    const client = yield* McpClient

    const findServer = (agentId: AgentId, name: string) =>
      Effect.flatMap(repository.list(agentId), (all) => {
        const match = all.find((server) => server.name === name)
        return match === undefined
          ? new McpCallFailed({ reason: `The agent has no MCP server ${name} any more.` })
          : Effect.succeed(match)
      })

    /** Caches failures too, so that a failing server delays one turn per minute. */
    const listings = yield* Cache.make({
      capacity: 200,
      timeToLive: "1 minute",
      lookup: ({ agentId, server: name }: ListKey) =>
        findServer(agentId, name).pipe(
          Effect.flatMap(client.listTools),
          Effect.match({
            onSuccess: (listed): Listing => ({ tools: declareMcpTools(name, listed) }),
            onFailure: ({ reason }): Listing => ({ tools: [], failure: reason })
          })
        )
    })

    const reported = new WeakSet<Listing>()

    /**
     * Returns the tools of every reachable server, and failures not yet reported by a previous list. Each is cached for
     * a minute.
     */
    const list = Effect.fn("McpTools.list")(function* (agentId: AgentId) {
      const servers = yield* repository.list(agentId)
      const found = yield* Effect.forEach(
        servers,
        ({ name, updatedAt }) =>
          // An interrupted caller does not interrupt the request for others.
          Effect.flatMap(
            Effect.forkDaemon(listings.get(Data.struct({ agentId, server: name, updatedAt: updatedAt.epochMillis }))),
            Fiber.join
          ),
        { concurrency: "unbounded" }
      )
      const failures = found.flatMap((listing, at) =>
        listing.failure === undefined || reported.has(listing)
          ? []
          : [{ server: servers[at]?.name ?? "", reason: listing.failure }]
      )
      for (const listing of found) reported.add(listing)
      return { tools: limitMcpTools(found.flatMap(({ tools }) => tools)), failures }
    })

    const call = Effect.fn("McpTools.call")(function* (
      agentId: AgentId,
      server: string,
      tool: string,
      args: Readonly<Record<string, unknown>>
    ) {
      return yield* client.callTool(yield* findServer(agentId, server), tool, args)
    })

    return { list, call }
  })
}) {}
