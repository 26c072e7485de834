import { McpCallFailed } from "@berth/domain/skills/mcp/McpClient"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { reasonErrorBody } from "../http/ErrorBody.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { RuntimeMcpCall, runtimeMcpPath, RuntimeTextAnswer } from "./RuntimeContract.ts"
import { AgentNotInInstanceBody, RuntimeAuth, TurnNotInProgressBody } from "./RuntimeModelApi.ts"

const McpCallFailedBody = reasonErrorBody(McpCallFailed, {
  status: 422,
  error: "Tool failed",
  example: "The server did not answer within 60 s."
})

const call = HttpApiEndpoint.post("call", runtimeMcpPath)
  .setPayload(RuntimeMcpCall)
  .addSuccess(RuntimeTextAnswer)
  .addError(AgentNotInInstanceBody)
  .addError(McpCallFailedBody)
  .addError(RateLimitExceededBody)
  .addError(TurnNotInProgressBody)
  .middleware(RuntimeAuth)
  .annotate(OpenApi.Summary, "List or call tools of MCP servers for a turn")

/** Tools of MCP servers, for runtimes. The servers' secrets stay in the backend. */
export class RuntimeMcpApi extends HttpApiGroup.make("runtimeMcp").add(call) {}
