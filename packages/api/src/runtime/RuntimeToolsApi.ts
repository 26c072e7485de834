import { A2aCallFailed } from "@berth/domain/a2a/A2aErrors"
import { McpCallFailed } from "@berth/domain/skills/mcp/McpClient"
import { PageNotReadable } from "@berth/domain/skills/web/WebPages"
import { WalletCallFailed } from "@berth/domain/wallets/payments/WalletPaymentErrors"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { reasonErrorBody } from "../http/ErrorBody.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import {
  RuntimeA2aCall,
  runtimeA2aPath,
  RuntimeMcpCall,
  runtimeMcpPath,
  RuntimeNote,
  runtimeNotesPath,
  RuntimePageQuery,
  runtimePagesPath,
  RuntimeRecallQuery,
  runtimeRecallPath,
  RuntimeRecollections,
  RuntimeSpanBatch,
  runtimeSpansPath,
  RuntimeTextAnswer,
  RuntimeWalletCall,
  runtimeWalletPath
} from "./RuntimeContract.ts"
import { AgentNotInInstanceBody, RuntimeAuth, TurnNotInProgressBody } from "./RuntimeModelApi.ts"

const WalletCallFailedBody = reasonErrorBody(WalletCallFailed, {
  status: 400,
  error: "Wallet call failed",
  example: "The payment waits for the owner."
})
const A2aCallFailedBody = reasonErrorBody(A2aCallFailed, {
  status: 400,
  error: "Message not sent",
  example: "The agent did not answer."
})
const McpCallFailedBody = reasonErrorBody(McpCallFailed, {
  status: 422,
  error: "Tool failed",
  example: "The server did not answer within 60 s."
})
const PageNotReadableBody = reasonErrorBody(PageNotReadable, {
  status: 422,
  error: "Page not readable",
  example: "The page responded 404."
})

const note = HttpApiEndpoint.post("note", runtimeNotesPath)
  .setPayload(RuntimeNote)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(AgentNotInInstanceBody)
  .addError(TurnNotInProgressBody)
  .annotate(OpenApi.Summary, "Store a note of an agent")

const recall = HttpApiEndpoint.post("recall", runtimeRecallPath)
  .setPayload(RuntimeRecallQuery)
  .addSuccess(RuntimeRecollections)
  .addError(AgentNotInInstanceBody)
  .annotate(OpenApi.Summary, "Search notes and earlier conversations of an agent")

/** The backend decides, signs and sends. */
const useWallet = HttpApiEndpoint.post("useWallet", runtimeWalletPath)
  .setPayload(RuntimeWalletCall)
  .addSuccess(RuntimeTextAnswer)
  .addError(AgentNotInInstanceBody)
  .addError(TurnNotInProgressBody)
  .addError(WalletCallFailedBody)
  .addError(RateLimitExceededBody)
  .annotate(OpenApi.Summary, "Use an agent's wallet")

/** The backend continues the turn's chain. */
const messageAgent = HttpApiEndpoint.post("messageAgent", runtimeA2aPath)
  .setPayload(RuntimeA2aCall)
  .addSuccess(RuntimeTextAnswer)
  .addError(AgentNotInInstanceBody)
  .addError(A2aCallFailedBody)
  .addError(RateLimitExceededBody)
  .annotate(OpenApi.Summary, "Send a message of an agent to another agent")

/** The servers' secrets stay in the backend. */
const callMcp = HttpApiEndpoint.post("callMcp", runtimeMcpPath)
  .setPayload(RuntimeMcpCall)
  .addSuccess(RuntimeTextAnswer)
  .addError(AgentNotInInstanceBody)
  .addError(McpCallFailedBody)
  .addError(RateLimitExceededBody)
  .addError(TurnNotInProgressBody)
  .annotate(OpenApi.Summary, "List or call tools of MCP servers for a turn")

/** The networks of instances have no internet access. */
const openPage = HttpApiEndpoint.post("openPage", runtimePagesPath)
  .setPayload(RuntimePageQuery)
  .addSuccess(HttpApiSchema.Uint8Array())
  .addError(PageNotReadableBody)
  .addError(RateLimitExceededBody)
  .addError(TurnNotInProgressBody)
  .annotate(OpenApi.Summary, "Fetch a web page for an agent")

/** The collector's credentials stay in the backend. */
const relaySpans = HttpApiEndpoint.post("relaySpans", runtimeSpansPath)
  .setPayload(RuntimeSpanBatch)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(RateLimitExceededBody)
  .annotate(OpenApi.Summary, "Relay spans of an instance to the collector")

/** Skills and telemetry of agents, for runtimes. */
export class RuntimeToolsApi extends HttpApiGroup.make("runtimeTools")
  .add(note)
  .add(recall)
  .add(useWallet)
  .add(messageAgent)
  .add(callMcp)
  .add(openPage)
  .add(relaySpans)
  .middlewareEndpoints(RuntimeAuth) {}
