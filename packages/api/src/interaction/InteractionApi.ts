import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { Channel } from "@berth/domain/channels/Channel"
import { ChatSessionId, MessageId, MessageState } from "@berth/domain/interaction/Conversation"
import { CredentialKey, CredentialMap } from "@berth/domain/secrets/Credential"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { AgentNotFoundBody, ConfigurationNotAppliedBody, PlanFeatureRequiredBody } from "../agents/AgentErrorBodies.ts"
import { pageNumber } from "../http/Pagination.ts"
import { optionalText, payload, SecretText } from "../http/Payload.ts"
import { EpochMillis, Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { SessionAuth } from "../sessions/SessionAuth.ts"
import {
  ChatFailedBody,
  ChatSessionNotFoundBody,
  CredentialInvalidBody,
  CredentialKeyUnknownBody,
  LastEventIdInvalidBody,
  MessageInvalidBody,
  MessageNotFoundBody,
  MessageUnansweredBody,
  RunningAgentNotFoundBody,
  SkillNotFoundBody,
  PendingMessageLimitReachedBody,
  ChatSessionLimitReachedBody,
  UnitsExhaustedBody
} from "./InteractionErrorBodies.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

export const interactionApiVersion = "1.0.0"

const summaryFields = {
  id: ChatSessionId,
  status: Schema.Literal("active"),
  messageCount: Schema.Int,
  createdAt: EpochMillis,
  lastActivity: EpochMillis
}
export const SessionSummary = Schema.Struct(summaryFields).annotations({ identifier: "SessionSummary" })

const role = Schema.Literal("user", "assistant")
export const SessionMessage = Schema.Struct({
  id: MessageId,
  role,
  content: Schema.String,
  timestamp: EpochMillis,
  status: MessageState.annotations({ description: "Whether the message was answered; a failed one cost nothing" })
}).annotations({ identifier: "SessionMessage" })
export const FullSession = Schema.Struct({
  ...summaryFields,
  messages: Schema.Array(SessionMessage)
}).annotations({ identifier: "FullSession" })

export const MemoryItem = Schema.Struct({ role, content: Schema.String }).annotations({
  identifier: "MemoryItem",
  description: "content is cut to 100 characters"
})

export const AgentHealthView = Schema.Struct({
  status: AgentStatus,
  version: Schema.String.annotations({ description: "Of the runtime that the agent's cell runs" }),
  apiVersion: Schema.String,
  uptime: Schema.Int.annotations({ description: "Seconds since its cell was started; 0 when the agent is not up" }),
  model: Schema.String,
  channels: Schema.Array(Channel),
  skills: Schema.Array(Schema.String).annotations({ description: "Ids of the skills that it works with" }),
  lastSeen: EpochMillis
}).annotations({ identifier: "AgentHealth" })

export const SkillView = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  description: Schema.String,
  enabled: Schema.Boolean.annotations({ description: "Whether the agent works with it: chosen, and part of the plan" })
}).annotations({ identifier: "Skill" })

export const InteractionIndex = Schema.Struct({
  apiVersion: Schema.String,
  serviceVersion: Schema.String,
  endpoints: Schema.Record({ key: Schema.String, value: Schema.String })
}).annotations({ identifier: "InteractionIndex" })

/** Messages of a conversation that are shown at a time, the newest ones unless `before` names one. */
const sessionPage = {
  before: Schema.optional(
    MessageId.annotations({ description: "Only messages of the conversation before this one of its messages" })
  ),
  limit: pageNumber({ least: 1, most: 300, usual: 300 })
}

const eventText = HttpApiSchema.withEncoding(Schema.String, { kind: "Text", contentType: "text/event-stream" })

const readActions = ["health", "sessions", "session", "memory", "skills", "credentials"] as const

/** GET /api/agent, with `action` one of health, sessions, session, memory, skills, credentials, or the index without it. */
const read = HttpApiEndpoint.get("read", "/api/agent")
  .setUrlParams(
    payload({
      action: Schema.optional(Schema.Literal(...readActions)),
      sessionId: Schema.optional(ChatSessionId),
      agentId: Schema.optional(AgentId),
      ...sessionPage
    })
  )
  .addSuccess(
    Schema.Union(
      Schema.Struct({ sessions: Schema.Array(SessionSummary) }),
      Schema.Struct({ session: FullSession }),
      Schema.Struct({ memory: Schema.Array(MemoryItem) }),
      // Before what is told of skills alone, whose members it has too.
      AgentHealthView,
      Schema.Struct({ skills: Schema.Array(SkillView) }),
      Schema.Struct({ credentials: CredentialMap }),
      InteractionIndex
    )
  )
  .addError(ChatSessionNotFoundBody)
  .addError(AgentNotFoundBody)
  .addError(RunningAgentNotFoundBody)
  .addError(MessageInvalidBody)
  .middleware(SessionAuth)

const actions = ["chat", "create-session", "update-skill", "set-credential"] as const

/**
 * POST /api/agent: `action` is chat when omitted. With `Accept: text/event-stream` a chat is answered piece by piece, and
 * with `Last-Event-ID` as well nothing is sent: the rest of that event's answer comes.
 */
const act = HttpApiEndpoint.post("act", "/api/agent")
  .setPayload(
    payload({
      action: Schema.optionalWith(Schema.Literal(...actions), {
        default: () => "chat" as const,
        nullable: true
      }),
      message: optionalText,
      sessionId: Schema.optionalWith(ChatSessionId, { nullable: true }),
      agentId: Schema.optionalWith(AgentId, { nullable: true }),
      skillId: optionalText,
      enabled: Schema.optionalWith(Schema.Boolean, { nullable: true }),
      key: optionalText,
      value: Schema.optionalWith(SecretText, { nullable: true })
    })
  )
  .addSuccess(
    Schema.Union(
      Schema.Struct({ sessionId: ChatSessionId, reply: Schema.String, timestamp: EpochMillis }),
      Schema.Struct({ sessionId: ChatSessionId, status: Schema.Literal("active") }),
      Schema.Struct({ success: Schema.Boolean, skillId: Schema.String, enabled: Schema.Boolean }),
      Schema.Struct({ success: Schema.Boolean, key: CredentialKey, configured: Schema.Boolean })
    )
  )
  .addSuccess(eventText)
  .addError(LastEventIdInvalidBody)
  .addError(MessageNotFoundBody)
  .addError(PendingMessageLimitReachedBody)
  .addError(ChatSessionLimitReachedBody)
  .addError(MessageInvalidBody)
  .addError(AgentNotFoundBody)
  .addError(RunningAgentNotFoundBody)
  .addError(ChatSessionNotFoundBody)
  .addError(UnitsExhaustedBody)
  .addError(SkillNotFoundBody)
  .addError(PlanFeatureRequiredBody)
  .addError(CredentialKeyUnknownBody)
  .addError(CredentialInvalidBody)
  .addError(ConfigurationNotAppliedBody)
  .addError(MessageUnansweredBody)
  .middleware(SessionAuth)

export const ChatRecord = Schema.Struct({
  id: MessageId,
  sender: Schema.Literal("user", "agent"),
  message: Schema.String,
  topic: Schema.NullOr(Schema.String),
  timestamp: Timestamp
}).annotations({ identifier: "ChatRecord" })

/** POST /api/chat, piece by piece as POST /api/agent. */
const chat = HttpApiEndpoint.post("chat", "/api/chat")
  .setPayload(
    payload({
      message: Schema.String,
      topic: Schema.optionalWith(Schema.String.pipe(Schema.maxLength(200)), { nullable: true })
    })
  )
  .addSuccess(
    Schema.Struct({
      id: MessageId,
      message: Schema.String,
      topic: Schema.NullOr(Schema.String),
      status: Schema.Literal("sent"),
      timestamp: Timestamp,
      reply: Schema.String
    })
  )
  .addSuccess(eventText)
  .addError(LastEventIdInvalidBody)
  .addError(MessageNotFoundBody)
  .addError(PendingMessageLimitReachedBody)
  .addError(MessageInvalidBody)
  .addError(UnitsExhaustedBody)
  .addError(ChatFailedBody)
  .middleware(SessionAuth)

/** GET /api/chat: newest first. */
const history = HttpApiEndpoint.get("history", "/api/chat")
  .addSuccess(Schema.Struct({ messages: Schema.Array(ChatRecord), count: Schema.Int }))
  .middleware(SessionAuth)

/**
 * GET /api/agent/messages/:messageId/events: the answer to a message as server-sent events, from its beginning or from what
 * `Last-Event-ID` names, as a browser's EventSource asks for it; 204 for who has heard all of it.
 */
const events = HttpApiEndpoint.get("events", "/api/agent/messages/:messageId/events")
  .setPath(Schema.Struct({ messageId: MessageId }))
  .addSuccess(eventText)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(LastEventIdInvalidBody)
  .addError(MessageNotFoundBody)
  .middleware(SessionAuth)

export class InteractionApi extends HttpApiGroup.make("interaction")
  .add(read)
  .add(act)
  .add(chat)
  .add(history)
  .add(events)
  .addError(InternalFailureBody) {}
