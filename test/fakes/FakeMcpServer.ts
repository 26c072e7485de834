import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import {
  type CallToolResult,
  CallToolRequestSchema,
  ListToolsRequestSchema,
  type Tool
} from "@modelcontextprotocol/sdk/types.js"
import { Effect } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { listenLocally } from "../support/LocalServer.ts"

export interface FakeMcpServerOptions {
  readonly tools?: ReadonlyArray<Pick<Tool, "name"> & Partial<Tool>>
  readonly call?: (
    name: string,
    args: Readonly<Record<string, unknown>>,
    request: IncomingMessage
  ) => CallToolResult | Promise<CallToolResult>
  /** Handles a request itself if it returns true. */
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** The official server of the Model Context Protocol, stateless, for the scope. */
export const startFakeMcpServer = ({
  call = () => ({ content: [] }),
  intercept = () => false,
  tools = []
}: FakeMcpServerOptions) =>
  Effect.gen(function* () {
    const requests: Array<IncomingMessage> = []
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      requests.push(request)
      if (intercept(request, response)) return
      const { server } = new McpServer({ name: "fake", version: "1" }, { capabilities: { tools: {} } })
      server.setRequestHandler(ListToolsRequestSchema, () => ({
        tools: tools.map((tool) => ({ inputSchema: { type: "object" as const }, ...tool }))
      }))
      server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
        call(params.name, params.arguments ?? {}, request)
      )
      const transport = new StreamableHTTPServerTransport()
      response.once("close", () => void server.close())
      await server.connect(transport)
      await transport.handleRequest(request, response)
    }
    const origin = yield* listenLocally(createServer((request, response) => void answer(request, response)))
    return { url: new URL("/mcp", origin).href, requests }
  })
