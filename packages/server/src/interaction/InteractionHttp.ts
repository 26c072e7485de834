import { interactionApiVersion } from "@berth/api/interaction/InteractionApi"
import {
  ChatFailed,
  makeMissingFieldsError,
  LastEventIdInvalid,
  pendingRetryAfterSeconds
} from "@berth/api/interaction/InteractionErrorBodies"
import { WebApi } from "@berth/api/WebApi"
import type { User } from "@berth/domain/shared/User"
import { AgentConfiguration } from "@berth/domain/agents/AgentConfiguration"
import { AgentHealth } from "@berth/domain/interaction/health/AgentHealth"
import { type AnswerEvent, parseAnswerEventId } from "@berth/domain/interaction/answers/AnswerEvent"
import type { ChatSession, Message } from "@berth/domain/interaction/Conversation"
import { MessageInvalid } from "@berth/domain/interaction/ConversationErrors"
import { ConversationRecords } from "@berth/domain/interaction/conversations/ConversationRecords"
import { Conversations, toChatRole } from "@berth/domain/interaction/conversations/Conversations"
import { CredentialVault } from "@berth/domain/secrets/CredentialVault"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder, HttpApp, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Duration, Effect, Either, Option, type Redacted, Stream } from "effect"
import { respondFrames, acceptsEventStream } from "../http/SseResponse.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { agentAnswerFormat, encodeAnswerFrame, type AnswerFormat, chatAnswerFormat } from "./AnswerEventFrames.ts"
import type { AgentId } from "@berth/domain/shared/AgentId"

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
  role: toChatRole(sender),
  content,
  timestamp: createdAt,
  status: state
})
const memoryItemOf = ({ content, sender }: Message) => ({
  role: toChatRole(sender),
  content: [...content].slice(0, memoryLength).join("")
})
const chatRecordOf = ({ content, createdAt, id, sender, topic }: Message) => ({
  id,
  sender,
  message: content,
  topic,
  timestamp: createdAt
})

const findMissingFields = (fields: Readonly<Record<string, unknown>>) =>
  Object.keys(fields).filter((field) => fields[field] === undefined)

const index = (serviceVersion: string) => ({
  apiVersion: interactionApiVersion,
  serviceVersion,
  endpoints: {
    "GET /api/agent?action=health": "How your agent is",
    "GET /api/agent?action=sessions": "Your conversations, last used first",
    "GET /api/agent?action=session&sessionId=<id>": "One conversation with its messages",
    "GET /api/agent?action=memory": "The last 10 messages of the conversation used last",
    "GET /api/agent?action=skills": "Every skill, and whether your agent works with it",
    "GET /api/agent?action=credentials": "Which credentials are configured",
    "POST /api/agent (action chat, or none)": "message, sessionId? gives the reply",
    "POST /api/agent (action create-session)": "Opens a conversation",
    "POST /api/agent (action update-skill)": "skillId, enabled switches a skill on or off",
    "POST /api/agent (action set-credential)": "key, value keeps a credential; it is never shown again",
    "GET /api/chat": "Your messages over all conversations, newest first",
    "POST /api/chat": "message, topic? gives the reply",
    "GET /api/agent/messages/<id>/events": "The answer to a message as server-sent events; Last-Event-ID resumes"
  }
})

const addPendingRetryAfter = HttpApp.appendPreResponseHandler((_request, response) =>
  Effect.succeed(HttpServerResponse.setHeader(response, "retry-after", String(pendingRetryAfterSeconds)))
)

const readLastEventId = (request: HttpServerRequest.HttpServerRequest) =>
  Option.match(Option.fromNullable(request.headers["last-event-id"]), {
    onNone: () => Effect.succeedNone,
    onSome: (text) =>
      Effect.map(
        Effect.mapError(parseAnswerEventId(text), () => new LastEventIdInvalid()),
        Option.some
      )
  })

/** An answer as it comes. */
const respondStreamedAnswer = (
  { events, message }: { readonly events: Stream.Stream<AnswerEvent>; readonly message: Message },
  words: AnswerFormat
) => respondFrames(Stream.map(events, encodeAnswerFrame(message, words)))

export const layer = HttpApiBuilder.group(WebApi, "interaction", (handlers) =>
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const records = yield* ConversationRecords
    const health = yield* AgentHealth
    const configuration = yield* AgentConfiguration
    const vault = yield* CredentialVault
    const { serviceVersion } = yield* WebSettings

    const healthOf = Effect.fnUntraced(function* (owner: User, agentId: AgentId | undefined) {
      const { channels, lastSeen, model, runtimeVersion, skills, status, uptime } = yield* health.check(owner, agentId)
      return {
        status,
        // A cell that has never been started would run what is here.
        version: Option.getOrElse(runtimeVersion, () => serviceVersion),
        apiVersion: interactionApiVersion,
        uptime: Math.floor(Duration.toSeconds(uptime)),
        model,
        channels,
        skills,
        lastSeen
      }
    })

    const skillsOf = Effect.fnUntraced(function* (owner: User, agentId: AgentId | undefined) {
      const agent = yield* health.resolveAgent(owner.id, agentId)
      const skills = yield* configuration.listSkills(owner, agent)
      return {
        skills: skills.map(({ enabled, skill: { description, id, name } }) => ({ id, name, description, enabled }))
      }
    })

    const updateSkill = Effect.fnUntraced(function* (
      owner: User,
      agentId: AgentId | undefined,
      { enabled, skillId }: { readonly skillId: string | undefined; readonly enabled: boolean | undefined }
    ) {
      const agent = yield* health.resolveAgent(owner.id, agentId)
      if (skillId === undefined || enabled === undefined)
        return yield* makeMissingFieldsError(findMissingFields({ skillId, enabled }))
      yield* configuration.setSkill(owner, agent, skillId, enabled)
      return { success: true, skillId, enabled }
    })

    const setCredential = Effect.fnUntraced(function* (
      owner: User,
      agentId: AgentId | undefined,
      { key, value }: { readonly key: string | undefined; readonly value: Redacted.Redacted | undefined }
    ) {
      if (agentId !== undefined) yield* health.resolveAgent(owner.id, agentId)
      if (key === undefined || value === undefined)
        return yield* makeMissingFieldsError(findMissingFields({ key, value }))
      return { success: true, key: yield* vault.set(owner.id, key, value), configured: true }
    })

    return handlers
      .handle("read", ({ urlParams: { action, agentId, before, limit, sessionId } }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          switch (action) {
            case undefined:
              return index(serviceVersion)
            case "sessions":
              return { sessions: (yield* records.listSessions(user.id)).map(summaryOf) }
            case "session": {
              if (sessionId === undefined) return yield* new MessageInvalid({ reason: "sessionId is missing" })
              const { messages, findSession } = yield* records.findSession(user.id, sessionId, { before, limit })
              return { session: { ...summaryOf(findSession), messages: messages.map(sessionMessageOf) } }
            }
            case "memory":
              return { memory: (yield* records.readRecent(user.id, agentId)).map(memoryItemOf) }
            case "health":
              return yield* healthOf(user, agentId)
            case "skills":
              return yield* skillsOf(user, agentId)
            case "credentials": {
              if (agentId !== undefined) yield* health.resolveAgent(user.id, agentId)
              return { credentials: yield* vault.findConfigured(user.id) }
            }
          }
        })
      )
      .handle("act", ({ payload: { action, agentId, enabled, key, message, sessionId, skillId, value }, request }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          if (action === "create-session") {
            const session = yield* conversations.createSession(user.id, agentId)
            return { sessionId: session.id, status: session.status }
          }
          if (action === "update-skill") return yield* updateSkill(user, agentId, { skillId, enabled })
          if (action === "set-credential") return yield* setCredential(user, agentId, { key, value })
          const isStream = acceptsEventStream(request.headers["accept"])
          const position = isStream ? yield* readLastEventId(request) : Option.none()
          if (Option.isSome(position))
            return respondStreamedAnswer(yield* conversations.resume(user.id, position.value), agentAnswerFormat)
          if (message === undefined) return yield* new MessageInvalid({ reason: "is missing" })
          const toSend = { message, sessionId, agentId }
          if (isStream)
            return respondStreamedAnswer(
              yield* conversations.send(user, toSend, { isResumable: true }),
              agentAnswerFormat
            )
          const { reply } = yield* conversations.sendAndAwait(user, toSend)
          return { sessionId: reply.sessionId, reply: reply.content, timestamp: reply.createdAt }
        }).pipe(Effect.tapErrorTag("PendingMessageLimitReached", () => addPendingRetryAfter))
      )
      .handle("chat", ({ payload: { message, topic }, request }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          if (acceptsEventStream(request.headers["accept"])) {
            const position = yield* readLastEventId(request)
            return Option.isSome(position)
              ? respondStreamedAnswer(yield* conversations.resume(user.id, position.value), chatAnswerFormat)
              : respondStreamedAnswer(
                  yield* conversations.send(user, { message, topic }, { isResumable: true }),
                  chatAnswerFormat
                )
          }
          const { message: sent, reply } = yield* conversations.sendAndAwait(user, { message, topic })
          return {
            id: sent.id,
            message: sent.content,
            topic: sent.topic,
            status: "sent" as const,
            timestamp: sent.createdAt,
            reply: reply.content
          }
        }).pipe(
          Effect.tapErrorTag("PendingMessageLimitReached", () => addPendingRetryAfter),
          Effect.catchTags({
            ChatSessionLimitReached: () => new ChatFailed({ reason: "you have too many conversations" }),
            RunningAgentNotFound: () => new ChatFailed({ reason: "you have no agent that is up" }),
            AgentNotFound: () => new ChatFailed({ reason: "the agent is gone" }),
            ChatSessionNotFound: () => new ChatFailed({ reason: "the conversation is gone" }),
            MessageUnanswered: ({ reason }) => new ChatFailed({ reason })
          })
        )
      )
      .handle("history", () =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          const { count, messages } = yield* records.listHistory(user.id, historyLength)
          return { messages: messages.map(chatRecordOf), count }
        })
      )
      .handle("events", ({ path: { messageId }, request }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          // Whose message it is comes before what else is wrong.
          const shown = Either.filterOrLeft(
            yield* Effect.either(readLastEventId(request)),
            Option.match({ onNone: () => true, onSome: (position) => position.messageId === messageId }),
            () => new LastEventIdInvalid()
          )
          const after = Either.match(shown, {
            onLeft: () => 0,
            onRight: Option.match({ onNone: () => 0, onSome: (position) => position.after })
          })
          const answer = yield* conversations.resume(user.id, { messageId, after })
          yield* shown
          return answer.isOver
            ? HttpServerResponse.empty({ status: 204 })
            : respondStreamedAnswer(answer, agentAnswerFormat)
        })
      )
  })
)
