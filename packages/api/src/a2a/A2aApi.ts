import {
  A2aMessageConflict,
  A2aMessageInvalid,
  A2aQueueFull,
  A2aSenderNotOwned,
  DelegationRefused,
  OfferedSkillNotFound
} from "@berth/domain/a2a/A2aErrors"
import { A2aEnvelope, A2aMessageId, A2aStatus } from "@berth/domain/a2a/A2aMessage"
import { AgentId } from "@berth/domain/shared/AgentId"
import { Principal } from "@berth/domain/sessions/Principal"
import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AgentNotFoundBody, SkillNotFoundBody } from "../agents/AgentErrorBodies.ts"
import { AgentOwner } from "../agents/OwnedAgent.ts"
import { plainErrorBody, reasonErrorBody } from "../http/ErrorBody.ts"
import { pageOf, pageQuery } from "../http/Pagination.ts"
import { payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { AuthenticationErrors, sessionCookie } from "../sessions/SessionAuth.ts"

const A2aSenderNotOwnedBody = plainErrorBody(A2aSenderNotOwned, {
  status: 403,
  error: "Not your agent",
  message: "`from` must be one of your agents."
})
const A2aMessageInvalidBody = reasonErrorBody(A2aMessageInvalid, {
  status: 400,
  error: "Invalid message",
  example: "message.parts: must have at least one part."
})
const DelegationRefusedBody = reasonErrorBody(DelegationRefused, {
  status: 400,
  error: "Delegation refused",
  example: "The agent does not accept tasks of yours."
})
const OfferedSkillNotFoundBody = reasonErrorBody(OfferedSkillNotFound, {
  status: 400,
  error: "Skill not offered",
  example: "The agent offers no skill `translate`."
})
const A2aMessageConflictBody = plainErrorBody(A2aMessageConflict, {
  status: 409,
  error: "Message id taken",
  message: "`messageId`: the agent has sent another message under this id."
})
const A2aQueueFullBody = plainErrorBody(A2aQueueFull, {
  status: 429,
  error: "Too many messages",
  message: "Too many messages of the sender, or to the receiver, are in progress. Wait for their replies."
})

/** As `PrincipalAuth`; also accepts the gateway token for the instance of the agent in `from`. */
export class A2aSenderAuth extends HttpApiMiddleware.Tag<A2aSenderAuth>()("A2aSenderAuth", {
  provides: Principal,
  failure: AuthenticationErrors,
  security: { session: sessionCookie }
}) {}

const Accepted = Schema.Struct({ messageId: Schema.String, status: Schema.Literal("accepted") }).annotations({
  identifier: "A2aAccepted"
})
const Outcome = Schema.Struct({
  messageId: Schema.String,
  status: Schema.Literal("answered", "failed", "refused", "expired"),
  reply: Schema.NullOr(A2aEnvelope),
  reason: Schema.NullOr(Schema.String)
}).annotations({ identifier: "A2aOutcome" })

const send = HttpApiEndpoint.post("send", "/api/a2a/:agentId/messages")
  .setPath(Schema.Struct({ agentId: AgentId }))
  .setPayload(A2aEnvelope.annotations({ parseOptions: { errors: "all" } }))
  .addSuccess(Outcome)
  .addSuccess(Accepted, { status: 202 })
  .addError(A2aSenderNotOwnedBody)
  .addError(AgentNotFoundBody)
  .addError(A2aMessageInvalidBody)
  .addError(DelegationRefusedBody)
  .addError(OfferedSkillNotFoundBody)
  .addError(A2aMessageConflictBody)
  .addError(A2aQueueFullBody)
  .annotate(OpenApi.Summary, "Send a message to an agent")
  .annotate(
    OpenApi.Description,
    "From one of your agents, with a session, an API key or the gateway token of its instance. `request` and `delegate` return the reply, or 202 after 20 seconds: repeat the message to read it. `notify` returns 202. `delegate` runs a tool of an offered `skill`; without one, it gives the agent a task. The task and everything that follows from it cost at most `delegation.budgetUnits`. Idempotent by `from` and `messageId`. 404 if the agent does not allow the sender."
  )

export class A2aMessagesApi extends HttpApiGroup.make("a2aMessages")
  .add(send)
  .middlewareEndpoints(A2aSenderAuth)
  .annotateEndpointsContext(acceptApiKeys("chat"))
  .addError(InternalFailureBody) {}

const path = Schema.Struct({ id: AgentId })
const entries = Schema.Array(Schema.String.pipe(Schema.maxLength(100))).pipe(Schema.maxItems(100))
const Allow = Schema.Struct({ allow: Schema.Array(Schema.String) })
const Skills = Schema.Struct({ skills: Schema.Array(Schema.String) })

const readAllow = HttpApiEndpoint.get("readAllow", "/api/agents/:id/a2a/allow")
  .setPath(path)
  .addSuccess(Allow)
  .annotate(OpenApi.Summary, "List the senders that an agent allows")
  .annotate(OpenApi.Description, "Ids of users and agents. Agents of the same owner are always allowed.")
const writeAllow = HttpApiEndpoint.put("writeAllow", "/api/agents/:id/a2a/allow")
  .setPath(path)
  .setPayload(payload({ allow: entries }))
  .addSuccess(Allow)
  .annotate(OpenApi.Summary, "Replace the senders that an agent allows")
  .annotate(
    OpenApi.Description,
    "Ids of users and agents, at most 100. Their messages are charged to the owner of this agent."
  )
const readSkills = HttpApiEndpoint.get("readSkills", "/api/agents/:id/a2a/skills")
  .setPath(path)
  .addSuccess(Skills)
  .annotate(OpenApi.Summary, "List the skills that an agent offers")
  .annotate(OpenApi.Description, "Available to the agents that it allows.")
const writeSkills = HttpApiEndpoint.put("writeSkills", "/api/agents/:id/a2a/skills")
  .setPath(path)
  .setPayload(payload({ skills: entries }))
  .addSuccess(Skills)
  .addError(SkillNotFoundBody)
  .annotate(OpenApi.Summary, "Replace the skills that an agent offers")
  .annotate(OpenApi.Description, "Ids of skills for messages in mode `delegate`.")
const messages = HttpApiEndpoint.get("messages", "/api/agents/:id/a2a/messages")
  .setPath(path)
  .setUrlParams(pageQuery)
  .addSuccess(
    pageOf({
      messages: Schema.Array(
        Schema.Struct({
          id: A2aMessageId,
          direction: Schema.Literal("inbound", "outbound"),
          status: A2aStatus,
          message: A2aEnvelope,
          chainId: A2aMessageId.annotations({ description: "The first message of the chain" }),
          chain: Schema.Struct({ depth: Schema.Int, path: Schema.Array(AgentId) }).annotations({
            description: "Level of this message and its senders in order, as recorded by the service"
          }),
          budgetUnits: Schema.NullOr(Schema.Int),
          usedUnits: Schema.NullOr(Schema.Int).annotations({
            description: "Units of the message and of all messages that followed from it"
          }),
          reply: Schema.NullOr(Schema.String),
          reason: Schema.NullOr(Schema.String),
          createdAt: Timestamp
        }).annotations({ identifier: "A2aMessageView" })
      )
    })
  )
  .annotate(OpenApi.Summary, "List the messages between an agent and other agents")
  .annotate(OpenApi.Description, "Inbox and delivery log of the last 30 days, newest first.")

/** An agent's part in messages between agents. */
export class AgentA2aApi extends HttpApiGroup.make("agentA2a")
  .add(readAllow)
  .add(writeAllow)
  .add(readSkills)
  .add(writeSkills)
  .add(messages)
  .middlewareEndpoints(AgentOwner)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}
