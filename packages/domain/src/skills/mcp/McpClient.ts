import { Context, Data, Duration, type Effect } from "effect"
import type { McpServer } from "./McpServer.ts"
import type { ListedMcpTool } from "./McpTool.ts"

export const mcpListTimeLimit = Duration.seconds(5)
export const mcpCallTimeLimit = Duration.seconds(60)
/** Maximum bytes of a server's responses in one exchange. */
export const maximumMcpBytes = 1024 * 1024

/** The reason is a sentence for the model and the agent's log, without headers. */
export class McpCallFailed extends Data.TaggedError("McpCallFailed")<{ readonly reason: string }> {}

/** MCP servers over streamable HTTP, at permitted addresses, with limits of time and size. */
export class McpClient extends Context.Tag("@berth/McpClient")<
  McpClient,
  {
    readonly listTools: (server: McpServer) => Effect.Effect<ReadonlyArray<ListedMcpTool>, McpCallFailed>
    /** Returns the result as text; fails for a result with `isError`. */
    readonly callTool: (
      server: McpServer,
      tool: string,
      args: Readonly<Record<string, unknown>>
    ) => Effect.Effect<string, McpCallFailed>
  }
>() {}
