import { type AgentOverviewChange, AgentOverview } from "@berth/domain/interaction/overviews/AgentOverview"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { EventStream } from "../http/EventStream.ts"
import { encodeSseEvent } from "../http/Sse.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { PrincipalAuth } from "../sessions/SessionAuth.ts"

const { agentId, lastMessage, model, provider, status, unitsToday } = AgentOverview.fields
const { sender, text } = lastMessage.members[0].fields

export const AgentOverviewView = Schema.Struct({
  agentId,
  status,
  model: model.annotations({ description: "Model of the newest reply; null if unknown" }),
  provider,
  lastMessage: Schema.NullOr(
    Schema.Struct({
      sender,
      text: text.annotations({ description: "Its first 240 characters" }),
      createdAt: Timestamp
    })
  ),
  unitsToday: unitsToday.annotations({ description: "Units of today's answers (UTC)" })
}).annotations({ identifier: "AgentOverview" })

/** Data of an `agents` event: first all agents, then changed ones. */
export const AgentOverviewEvent = Schema.Struct({
  agents: Schema.Array(AgentOverviewView),
  removed: Schema.Array(AgentId)
})

const encode = Schema.encodeSync(Schema.parseJson(AgentOverviewEvent))

export const encodeAgentOverviewEvent = (change: AgentOverviewChange): string =>
  encodeSseEvent({ event: "agents", data: encode(change) })

/**
 * Lists the caller's agents with their newest messages. `Accept: text/event-stream` sends `agents` events, first with
 * all agents, then with changed ones and the ids of removed ones, until the client disconnects or has too many streams.
 */
const overviews = HttpApiEndpoint.get("overviews", "/api/agents/overviews")
  .addSuccess(Schema.Struct({ agents: Schema.Array(AgentOverviewView) }))
  .addSuccess(EventStream)
  .annotate(OpenApi.Summary, "List or watch the caller's agents with their newest messages")

export class AgentOverviewsApi extends HttpApiGroup.make("agentOverviews")
  .add(overviews)
  .middlewareEndpoints(PrincipalAuth)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}
