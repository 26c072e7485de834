import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { Channel } from "@berth/domain/shared/Channel"
import { ChatSessionId, MessageId, MessageState } from "@berth/domain/interaction/Conversation"
import { recentMemoryLimits } from "@berth/domain/interaction/memory/RecentMemory"
import { CredentialKey, CredentialMap } from "@berth/domain/secrets/Credential"
import { Attachment, AttachmentId } from "@berth/domain/interaction/attachments/Attachment"
import { ToolActivity } from "@berth/domain/skills/tools/ToolActivity"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import {
  AgentNotFoundBody,
  ConfigurationNotAppliedBody,
  PlanFeatureRequiredBody,
  SkillNotFoundBody
} from "../agents/AgentErrorBodies.ts"
import { BudgetExceededBody, UnitsExhaustedBody } from "../billing/BillingErrorBodies.ts"
import { EventStream } from "../http/EventStream.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { pageNumber } from "../http/Pagination.ts"
import { namesFirstItem, optionalText, payload, SecretText } from "../http/Payload.ts"
import { EpochMillis, Timestamp } from "../http/Timestamp.ts"
import { CredentialInvalidBody, CredentialKeyUnknownBody } from "../secrets/CredentialErrorBodies.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { PrincipalAuth } from "../sessions/SessionAuth.ts"
import { AttachmentInvalidBody, AttachmentNotFoundBody, ImagesNotSupportedBody } from "./AttachmentsApi.ts"
import {
  ChatFailedBody,
  ChatSessionNotFoundBody,
  LastEventIdInvalidBody,
  MessageInvalidBody,
  MessageNotFoundBody,
  MessageUnansweredBody,
  RunningAgentNotFoundBody,
  PendingMessageLimitReachedBody,
  ResumedAnswerLimitReachedBody,
  ChatSessionLimitReachedBody
} from "./InteractionErrorBodies.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

const summaryFields = {
  id: ChatSessionId,
  title: Schema.optional(Schema.String).annotations({ description: "Set by PATCH" }),
  status: Schema.Literal("active"),
  preview: Schema.optional(Schema.String).annotations({
    description: "Beginning of the newest message of the user; with `include=preview` only"
  }),
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
  status: MessageState.annotations({ description: "Whether the message was answered" }),
  failure: Schema.NullOr(Schema.String).annotations({ description: "Reason for which the message was not answered" }),
  model: Schema.NullOr(Schema.String).annotations({ description: "Answering model; replies only" }),
  provider: Schema.NullOr(Schema.String).annotations({ description: "Provider that ran the model; replies only" }),
  units: Schema.NullOr(Schema.Int).annotations({ description: "Units booked for the answer; replies only" }),
  costMicros: Schema.NullOr(Schema.Int).annotations({
    description: "Cost of the model calls at their providers in millionths of a US dollar; replies only"
  }),
  durationMs: Schema.NullOr(Schema.Int).annotations({ description: "Milliseconds from the message to its reply" }),
  stopped: Schema.Boolean.annotations({
    description: "Whether the answer was stopped: the reply is its text so far; a message without any text is failed"
  }),
  toolCalls: Schema.Array(ToolActivity).annotations({ description: "Tool calls of the answer; replies only" }),
  attachments: Schema.Array(Attachment).annotations({ description: "Files of a user message" })
}).annotations({ identifier: "SessionMessage" })
export const FullSession = Schema.Struct({
  ...summaryFields,
  messages: Schema.Array(SessionMessage)
}).annotations({ identifier: "FullSession" })

export const MemoryItem = Schema.Struct({ role, content: Schema.String }).annotations({
  identifier: "MemoryItem",
  description: `content is truncated to ${recentMemoryLimits.characters} characters`
})

export const AgentHealthView = Schema.Struct({
  status: AgentStatus,
  version: Schema.String.annotations({ description: "Version of the instance's runtime" }),
  apiVersion: Schema.String,
  uptime: Schema.Int.annotations({
    description: "Seconds since the instance started; 0 if the agent is not running"
  }),
  model: Schema.String,
  channels: Schema.Array(Channel),
  skills: Schema.Array(Schema.String).annotations({ description: "Ids of the skills in use" }),
  lastSeen: EpochMillis
}).annotations({ identifier: "AgentHealth" })

export const SkillView = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  description: Schema.String,
  enabled: Schema.Boolean.annotations({ description: "Selected, and included in the plan" })
}).annotations({ identifier: "Skill" })

const InteractionIndex = Schema.Struct({
  apiVersion: Schema.String,
  serviceVersion: Schema.String,
  endpoints: Schema.Record({ key: Schema.String, value: Schema.String })
}).annotations({ identifier: "InteractionIndex" })

/** Page of a conversation: the newest messages, or those before a message. */
const sessionPage = {
  before: Schema.optional(
    MessageId.annotations({ description: "Only messages of the conversation before this message" })
  ),
  limit: pageNumber({ least: 1, most: 300, usual: 300 })
}

const readActions = ["health", "sessions", "session", "memory", "skills", "credentials"] as const

/** `action` is one of health, sessions, session, memory, skills, credentials; without it, returns the index. */
const read = HttpApiEndpoint.get("read", "/api/agent")
  .setUrlParams(
    payload({
      action: Schema.optional(Schema.Literal(...readActions)),
      sessionId: Schema.optional(ChatSessionId),
      agentId: Schema.optional(AgentId),
      search: Schema.optional(Schema.String.pipe(Schema.maxLength(200))).annotations({
        description: "Only conversations with this text in their title or recent messages"
      }),
      include: Schema.optional(Schema.Literal("preview")).annotations({
        description: "Adds the newest message of the user to each conversation of `action=sessions`"
      }),
      ...sessionPage
    })
  )
  .addSuccess(
    Schema.Union(
      Schema.Struct({ sessions: Schema.Array(SessionSummary) }),
      Schema.Struct({ session: FullSession }),
      Schema.Struct({ memory: Schema.Array(MemoryItem) }),
      // Precedes the skills body, whose members it includes.
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
  .addError(RateLimitExceededBody)
  .middleware(PrincipalAuth)
  .annotate(OpenApi.Summary, "Retrieve health, sessions, memory, skills or credentials of an agent")

const attachments = Schema.optionalWith(Schema.Array(AttachmentId).annotations(namesFirstItem), {
  nullable: true
}).annotations({
  description: "Ids of files of POST /api/agents/:id/attachments. With files, `message` may be empty"
})

const actions = ["chat", "create-session", "update-skill", "set-credential"] as const

/**
 * `action` defaults to chat. `Accept: text/event-stream` streams the answer; with `Last-Event-ID`, no message is sent
 * and that event's answer is resumed.
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
      attachments,
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
  .addSuccess(EventStream)
  .addError(LastEventIdInvalidBody)
  .addError(MessageNotFoundBody)
  .addError(PendingMessageLimitReachedBody)
  .addError(ResumedAnswerLimitReachedBody)
  .addError(ChatSessionLimitReachedBody)
  .addError(MessageInvalidBody)
  .addError(AgentNotFoundBody)
  .addError(RunningAgentNotFoundBody)
  .addError(ChatSessionNotFoundBody)
  .addError(AttachmentInvalidBody)
  .addError(AttachmentNotFoundBody)
  .addError(ImagesNotSupportedBody)
  .addError(UnitsExhaustedBody)
  .addError(BudgetExceededBody)
  .addError(SkillNotFoundBody)
  .addError(PlanFeatureRequiredBody)
  .addError(CredentialKeyUnknownBody)
  .addError(CredentialInvalidBody)
  .addError(ConfigurationNotAppliedBody)
  .addError(MessageUnansweredBody)
  .addError(IdempotencyErrors)
  .middleware(PrincipalAuth)
  .annotate(OpenApi.Summary, "Chat with an agent, or change its sessions, skills and credentials")

const ChatRecord = Schema.Struct({
  id: MessageId,
  sender: Schema.Literal("user", "agent"),
  message: Schema.String,
  topic: Schema.NullOr(Schema.String),
  timestamp: Timestamp
}).annotations({ identifier: "ChatRecord" })

/** Streamed and resumed like POST /api/agent. */
const chat = HttpApiEndpoint.post("chat", "/api/chat")
  .setPayload(
    payload({
      message: Schema.String,
      topic: Schema.optionalWith(Schema.String.pipe(Schema.maxLength(200)), { nullable: true }),
      agentId: Schema.optionalWith(AgentId, { nullable: true }),
      attachments
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
  .addSuccess(EventStream)
  .addError(LastEventIdInvalidBody)
  .addError(MessageNotFoundBody)
  .addError(PendingMessageLimitReachedBody)
  .addError(ResumedAnswerLimitReachedBody)
  .addError(MessageInvalidBody)
  .addError(AgentNotFoundBody)
  .addError(AttachmentInvalidBody)
  .addError(AttachmentNotFoundBody)
  .addError(ImagesNotSupportedBody)
  .addError(UnitsExhaustedBody)
  .addError(BudgetExceededBody)
  .addError(ChatFailedBody)
  .addError(IdempotencyErrors)
  .middleware(PrincipalAuth)
  .annotate(OpenApi.Summary, "Send a message to an agent")

const history = HttpApiEndpoint.get("history", "/api/chat")
  .addSuccess(Schema.Struct({ messages: Schema.Array(ChatRecord), count: Schema.Int }))
  .middleware(PrincipalAuth)
  .annotate(OpenApi.Summary, "List the caller's messages and replies, newest first")

/**
 * Streams the answer as server-sent events, from its beginning or after `Last-Event-ID`; 204 after its end, which stops
 * a browser's EventSource.
 */
const events = HttpApiEndpoint.get("events", "/api/agent/messages/:messageId/events")
  .setPath(Schema.Struct({ messageId: MessageId }))
  .addSuccess(EventStream)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(LastEventIdInvalidBody)
  .addError(MessageNotFoundBody)
  .addError(ResumedAnswerLimitReachedBody)
  .middleware(PrincipalAuth)
  .annotate(OpenApi.Summary, "Resume the events of an answer")

export class InteractionApi extends HttpApiGroup.make("interaction")
  .add(read)
  .add(act)
  .add(chat)
  .add(history)
  .add(events)
  .annotateEndpointsContext(acceptApiKeys("chat"))
  .addError(InternalFailureBody) {}
