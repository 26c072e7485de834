import { AgentId } from "@berth/domain/agents/Agent"
import { MessageId, Sender } from "@berth/domain/interaction/Conversation"
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { pageLimit, pageOffset } from "../http/Page.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { BackendIsUnavailableBody, CellIsUnavailableBody } from "../instances/LifecycleErrorBodies.ts"
import { AgentOwner } from "./OwnedAgent.ts"

const path = Schema.Struct({ id: AgentId })

export const AgentMessage = Schema.Struct({
  id: MessageId,
  agentId: AgentId,
  sender: Sender,
  content: Schema.String,
  timestamp: Timestamp,
  platform: Schema.String
}).annotations({ identifier: "AgentMessage" })

/** GET /api/agents/:id/messages: newest first. */
const messages = HttpApiEndpoint.get("messages", "/api/agents/:id/messages")
  .setPath(path)
  .setUrlParams(Schema.Struct({ limit: pageLimit, offset: pageOffset }))
  .addSuccess(
    Schema.Struct({
      messages: Schema.Array(AgentMessage),
      total: Schema.Int,
      limit: Schema.Int,
      offset: Schema.Int,
      status: Schema.Literal("ok")
    })
  )

/** DELETE /api/agents/provision/:id: the agent goes, with its conversations. */
const remove = HttpApiEndpoint.del("remove", "/api/agents/provision/:id")
  .setPath(path)
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(CellIsUnavailableBody)
  .addError(BackendIsUnavailableBody)

export class AgentRecordsApi extends HttpApiGroup.make("agentRecords")
  .add(messages)
  .add(remove)
  .middlewareEndpoints(AgentOwner)
  .addError(InternalFailureBody) {}
