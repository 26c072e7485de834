import type { Message } from "@berth/domain/interaction/Conversation"
import { abandonedMessageFailure, toChatRole } from "@berth/domain/interaction/Conversation"
import type { ListedSession } from "@berth/domain/interaction/conversations/ConversationRecords"
import type { AgentHealthReport } from "@berth/domain/interaction/health/AgentHealth"
import { recentMemoryLimits } from "@berth/domain/interaction/memory/RecentMemory"
import { Duration, Option } from "effect"
import type { SessionMessage } from "./InteractionApi.ts"

const interactionApiVersion = "1.0.0"

export const makeInteractionIndex = (serviceVersion: string) => ({
  apiVersion: interactionApiVersion,
  serviceVersion,
  endpoints: {
    "GET /api/agent?action=health": "The state of your agent",
    "GET /api/agent?action=sessions": "Your conversations, last used first; search=<text> finds some",
    "GET /api/agent?action=session&sessionId=<id>": "One conversation with its messages",
    "GET /api/agent?action=memory": `The last ${recentMemoryLimits.messages} messages of the conversation used last`,
    "GET /api/agent?action=skills": "Every skill, and whether your agent uses it",
    "GET /api/agent?action=credentials": "The configured credentials",
    "POST /api/agent (action chat, or none)": "message, sessionId?, attachments?: returns the reply",
    "POST /api/agent (action create-session)": "Creates a conversation",
    "POST /api/agent (action update-skill)": "skillId, enabled: switches a skill on or off",
    "POST /api/agent (action set-credential)": "key, value: stores a credential; it is never returned",
    "GET /api/chat": "Your messages over all conversations, newest first",
    "POST /api/chat": "message, topic?: returns the reply",
    "GET /api/agent/messages/<id>/events": "The answer to a message as server-sent events; Last-Event-ID resumes",
    "POST /api/agent/messages/<id>/stop": "Ends the answer to a message with its text so far",
    "PATCH /api/agent/sessions/<id>": "title: names a conversation",
    "DELETE /api/agent/sessions/<id>": "Deletes a conversation"
  }
})

export const makeSessionSummary = ({
  createdAt,
  id,
  lastActivity,
  messageCount,
  preview,
  status,
  title
}: ListedSession) => ({
  id,
  ...(title === null ? {} : { title }),
  ...(preview === undefined ? {} : { preview }),
  status,
  messageCount,
  createdAt,
  lastActivity
})

export const makeSessionMessage = ({
  attachments,
  content,
  costMicros,
  createdAt,
  durationMs,
  failure,
  id,
  isStopped,
  model,
  provider,
  sender,
  state,
  toolCalls,
  units
}: Message): typeof SessionMessage.Type => ({
  id,
  role: toChatRole(sender),
  content,
  timestamp: createdAt,
  status: state,
  failure: state === "failed" ? (failure ?? abandonedMessageFailure) : null,
  model,
  provider,
  units,
  costMicros,
  durationMs,
  stopped: isStopped,
  toolCalls: toolCalls ?? [],
  attachments: attachments ?? []
})

export const makeChatRecord = ({ content, createdAt, id, sender, topic }: Message) => ({
  id,
  sender,
  message: content,
  topic,
  timestamp: createdAt
})

export const makeSentMessage = ({ content, createdAt, id, topic }: Message, reply: Pick<Message, "content">) => ({
  id,
  message: content,
  topic,
  status: "sent" as const,
  timestamp: createdAt,
  reply: reply.content
})

/** An instance that never started reports the version that it would run. */
export const makeAgentHealth = (report: AgentHealthReport, serviceVersion: string) => {
  const { channels, lastSeen, model, runtimeVersion, skills, status, uptime } = report
  return {
    status,
    version: Option.getOrElse(runtimeVersion, () => serviceVersion),
    apiVersion: interactionApiVersion,
    uptime: Math.floor(Duration.toSeconds(uptime)),
    model,
    channels,
    skills,
    lastSeen
  }
}
