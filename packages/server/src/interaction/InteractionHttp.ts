import { interactionApiVersion } from "@berth/api/interaction/InteractionApi"
import { ChatFailed } from "@berth/api/interaction/InteractionErrorBodies"
import { WebApi } from "@berth/api/WebApi"
import type { ChatSession, Message } from "@berth/domain/interaction/Conversation"
import { MessageIsInvalid } from "@berth/domain/interaction/ConversationErrors"
import { Conversations, roleOf } from "@berth/domain/interaction/Conversations"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { eventStream, wantsEvents } from "../http/Sse.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { answerEvents } from "./AnswerEvents.ts"

const memoryLength = 100
const historyLength = 100

const summaryOf = ({ createdAt, id, lastActivity, messageCount, status }: ChatSession) => ({
  id,
  status,
  messageCount,
  createdAt,
  lastActivity
})
const sessionMessageOf = ({ content, createdAt, id, sender, state }: Message) => ({
  id,
  role: roleOf(sender),
  content,
  timestamp: createdAt,
  status: state
})
const memoryItemOf = ({ content, sender }: Message) => ({
  role: roleOf(sender),
  content: [...content].slice(0, memoryLength).join("")
})
const chatRecordOf = ({ content, createdAt, id, sender, topic }: Message) => ({
  id,
  sender,
  message: content,
  topic,
  timestamp: createdAt
})

const index = (serviceVersion: string) => ({
  apiVersion: interactionApiVersion,
  serviceVersion,
  endpoints: {
    "GET /api/agent?action=sessions": "Your conversations, last used first",
    "GET /api/agent?action=session&sessionId=<id>": "One conversation with its messages",
    "GET /api/agent?action=memory": "The last 10 messages of the conversation used last",
    "POST /api/agent":
      "action chat (or none): message, sessionId? gives the reply; action create-session opens a conversation"
  }
})

export const layer = HttpApiBuilder.group(WebApi, "interaction", (handlers) =>
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const { serviceVersion } = yield* WebSettings

    return handlers
      .handle("read", ({ urlParams: { action, agentId, sessionId } }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          switch (action) {
            case undefined:
              return index(serviceVersion)
            case "sessions":
              return { sessions: (yield* conversations.sessions(user.id)).map(summaryOf) }
            case "session": {
              if (sessionId === undefined) return yield* new MessageIsInvalid({ reason: "sessionId is missing" })
              const { messages, session } = yield* conversations.session(user.id, sessionId)
              return { session: { ...summaryOf(session), messages: messages.map(sessionMessageOf) } }
            }
            case "memory":
              return { memory: (yield* conversations.memory(user.id, agentId)).map(memoryItemOf) }
          }
        })
      )
      .handle("act", ({ payload: { action, agentId, message, sessionId }, request }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          if (action === "create-session") {
            const session = yield* conversations.createSession(user.id, agentId)
            return { sessionId: session.id, status: session.status }
          }
          if (message === undefined) return yield* new MessageIsInvalid({ reason: "is missing" })
          const toSend = { message, sessionId, agentId }
          if (wantsEvents(request.headers["accept"])) {
            const sent = yield* conversations.send(user, toSend)
            return eventStream(answerEvents(sent.events, sent.message.id))
          }
          const { reply } = yield* conversations.ask(user, toSend)
          return { sessionId: reply.sessionId, reply: reply.content, timestamp: reply.createdAt }
        })
      )
      .handle("chat", ({ payload: { message, topic } }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          const { message: sent, reply } = yield* conversations.ask(user, { message, topic })
          return {
            id: sent.id,
            message: sent.content,
            topic: sent.topic,
            status: "sent" as const,
            timestamp: sent.createdAt,
            reply: reply.content
          }
        }).pipe(
          Effect.catchTags({
            NoAgentIsRunning: () => new ChatFailed({ reason: "you have no agent that is up" }),
            AgentIsUnknown: () => new ChatFailed({ reason: "the agent is gone" }),
            ChatSessionIsUnknown: () => new ChatFailed({ reason: "the conversation is gone" }),
            MessageWasNotAnswered: ({ reason }) => new ChatFailed({ reason })
          })
        )
      )
      .handle("history", () =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          const { count, messages } = yield* conversations.history(user.id, historyLength)
          return { messages: messages.map(chatRecordOf), count }
        })
      )
  })
)
