import { Context, Data, Duration, type Effect } from "effect"
import type { McpServer } from "./McpServer.ts"
import type { ListedMcpTool } from "./McpTool.ts"

export const mcpListTimeLimit = Duration.seconds(5)
export const mcpCallTimeLimit = Duration.seconds(60)
/** Bytes of all answers of a server in one exchange. */
export const maximumMcpBytes = 1024 * 1024

/** The reason is a sentence for the model and the agent's log; it contains no header. */
export class McpCallFailed extends Data.TaggedError("McpCallFailed")<{ readonly reason: string }> {}

/** MCP servers over streamable HTTP, at permitted addresses, within the limits of time and size. */
export class McpClient extends Context.Tag("@berth/McpClient")<
  McpClient,
  {
    readonly listTools: (server: McpServer) => Effect.Effect<ReadonlyArray<ListedMcpTool>, McpCallFailed>
    /** The result as text; a result with `isError` fails. */
    readonly callTool: (
      server: McpServer,
      tool: string,
      args: Readonly<Record<string, unknown>>
    ) => Effect.Effect<string, McpCallFailed>
  }
>() {}
