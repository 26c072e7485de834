import { LogLevel, LogSource } from "@berth/domain/instances/RuntimeLog"
import { MessageId, Sender } from "@berth/domain/interaction/Conversation"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { pageLimit, pageOf, pageQuery } from "../http/Pagination.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { LogsUnavailableBody } from "../agents/AgentErrorBodies.ts"
import { LiveAgentStats, MockAgentStats } from "./AgentStats.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { AgentOwner } from "../agents/OwnedAgent.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

const path = Schema.Struct({ id: AgentId })

const AgentMessage = Schema.Struct({
  id: MessageId,
  agentId: AgentId,
  sender: Sender,
  content: Schema.String,
  timestamp: Timestamp,
  platform: Schema.String
}).annotations({ identifier: "AgentMessage" })

const messages = HttpApiEndpoint.get("messages", "/api/agents/:id/messages")
  .setPath(path)
  .setUrlParams(pageQuery)
  .addSuccess(
    Schema.Struct({ ...pageOf({ messages: Schema.Array(AgentMessage) }).fields, status: Schema.Literal("ok") })
  )
  .annotate(OpenApi.Summary, "List an agent's messages, newest first")

const LogEntry = Schema.Struct({
  id: Schema.String,
  timestamp: Timestamp,
  level: LogLevel,
  message: Schema.String,
  source: LogSource,
  /** The requested agent, even for entries of the whole instance. */
  agentId: AgentId
}).annotations({ identifier: "LogEntry" })

/** Newest first; entries of the agent and of its instance. */
const logs = HttpApiEndpoint.get("logs", "/api/agents/:id/logs")
  .setPath(path)
  .setUrlParams(Schema.Struct({ limit: pageLimit, level: Schema.optional(LogLevel) }))
  .addSuccess(
    Schema.Struct({
      logs: Schema.Array(LogEntry),
      total: Schema.Int,
      limit: Schema.Int,
      status: Schema.Literal("ok")
    })
  )
  .addError(LogsUnavailableBody)
  .addError(RateLimitExceededBody)
  .annotate(OpenApi.Summary, "List an agent's log entries, newest first")

const stats = HttpApiEndpoint.get("stats", "/api/agents/:id/stats")
  .setPath(path)
  .addSuccess(
    Schema.Union(
      Schema.Struct({ stats: LiveAgentStats, status: Schema.Literal("ok") }),
      Schema.Struct({ stats: MockAgentStats, status: Schema.Literal("mock") })
    )
  )
  .annotate(OpenApi.Summary, "Retrieve an agent's statistics")

/** Deletes the agent with its conversations. */
const remove = HttpApiEndpoint.del("remove", "/api/agents/provision/:id")
  .setPath(path)
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .annotate(OpenApi.Summary, "Delete an agent with its state and messages")

export class AgentRecordsApi extends HttpApiGroup.make("agentRecords")
  .add(messages)
  .add(logs)
  .add(stats)
  .add(remove)
  .middlewareEndpoints(AgentOwner)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}
