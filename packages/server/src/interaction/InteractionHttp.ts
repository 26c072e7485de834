import { makeMissingFieldsError } from "@berth/api/http/RequestErrors"
import { agentAnswerFormat, chatAnswerFormat } from "@berth/api/interaction/AnswerFrames"
import {
  makeAgentHealth,
  makeChatRecord,
  makeInteractionIndex,
  makeSentMessage,
  makeSessionMessage,
  makeSessionSummary
} from "@berth/api/interaction/InteractionBodies"
import { toChatFailed } from "@berth/api/interaction/InteractionErrorBodies"
import { WebApi } from "@berth/api/WebApi"
import { ResumedAnswers } from "@berth/domain/interaction/answers/ResumedAnswers"
import { ChatSessions } from "@berth/domain/interaction/conversations/ChatSessions"
import { ConversationRecords } from "@berth/domain/interaction/conversations/ConversationRecords"
import { Conversations } from "@berth/domain/interaction/conversations/Conversations"
import { AgentHealth } from "@berth/domain/interaction/health/AgentHealth"
import { Principal, principalWithScope } from "@berth/domain/sessions/Principal"
import { Effect, Option } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addResponseHeaders, addRetryAfter } from "../http/ResponseHeaders.ts"
import { acceptsEventStream } from "../http/SseResponse.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { makeAgentCredentialActions } from "./AgentCredentialsHttp.ts"
import { isConfiguration, makeAgentSkillActions } from "./AgentSkillsHttp.ts"
import {
  makeReplyHeaders,
  readLastEventId,
  respondAnswerEvents,
  respondStreamedChat,
  withInteractionRetryAfter
} from "./AnswerResponse.ts"
import { makeMessageReader } from "./ReceivedMessage.ts"

export const layer = group(WebApi, "interaction", (handlers) =>
  Effect.gen(function* () {
    const answers = { conversations: yield* Conversations, resumed: yield* ResumedAnswers }
    const sessions = yield* ChatSessions
    const readMessage = yield* makeMessageReader
    const records = yield* ConversationRecords
    const health = yield* AgentHealth
    const skills = yield* makeAgentSkillActions
    const credentials = yield* makeAgentCredentialActions
    const { serviceVersion } = yield* WebSettings

    return handlers
      .handle("read", ({ urlParams: { action, agentId, before, include, limit, search, sessionId } }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          switch (action) {
            case undefined:
              return makeInteractionIndex(serviceVersion)
            case "sessions":
              return {
                sessions: (yield* records.listSessions(user.id, agentId, { include, search })).map(makeSessionSummary)
              }
            case "session": {
              if (sessionId === undefined) return yield* makeMissingFieldsError(["sessionId"])
              const { messages, session } = yield* records.findSession(user.id, sessionId, { before, limit })
              return { session: { ...makeSessionSummary(session), messages: messages.map(makeSessionMessage) } }
            }
            case "memory":
              return { memory: yield* records.readRecent(user.id, agentId) }
            case "health":
              return makeAgentHealth(yield* health.check(user, agentId), serviceVersion)
            case "skills":
              return yield* skills.list(user, agentId)
            case "credentials":
              return yield* credentials.list(user.id, agentId)
          }
        }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
      )
      .handle("act", ({ payload, request }) =>
        Effect.gen(function* () {
          const { action, agentId, enabled, key, skillId, value } = payload
          const { user } = yield* isConfiguration(action) ? principalWithScope("agents") : Principal
          if (action === "create-session") {
            const session = yield* sessions.create(user.id, agentId)
            return { sessionId: session.id, status: session.status }
          }
          if (action === "update-skill") return yield* skills.update(user, agentId, { skillId, enabled })
          if (action === "set-credential") return yield* credentials.set(user.id, agentId, { key, value })
          const isStream = acceptsEventStream(request.headers["accept"])
          const position = isStream ? yield* readLastEventId(request) : Option.none()
          const toSend = yield* readMessage(user, payload, Option.isSome(position))
          if (isStream) return yield* respondStreamedChat(answers, user, position, toSend, agentAnswerFormat)
          const { reply } = yield* answers.conversations.sendAndAwait(user, toSend)
          yield* addResponseHeaders(makeReplyHeaders(reply))
          return { sessionId: reply.sessionId, reply: reply.content, timestamp: reply.createdAt }
        }).pipe(withInteractionRetryAfter)
      )
      .handle("chat", ({ payload, request }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          const toSend = yield* readMessage(user, payload)
          if (acceptsEventStream(request.headers["accept"]))
            return yield* respondStreamedChat(answers, user, yield* readLastEventId(request), toSend, chatAnswerFormat)
          const { message, reply } = yield* answers.conversations.sendAndAwait(user, toSend)
          yield* addResponseHeaders(makeReplyHeaders(reply))
          return makeSentMessage(message, reply)
        }).pipe(withInteractionRetryAfter, Effect.catchTags(toChatFailed(payload.agentId)))
      )
      .handle("history", () =>
        Effect.gen(function* () {
          const { count, messages } = yield* records.listHistory((yield* Principal).user.id)
          return { messages: messages.map(makeChatRecord), count }
        })
      )
      .handle("events", ({ path: { messageId }, request }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          return yield* respondAnswerEvents(answers.resumed, user, messageId, request)
        }).pipe(withInteractionRetryAfter)
      )
  })
)
