import { SkillNotFound } from "@berth/domain/agents/AgentConfiguration"
import {
  ChatSessionNotFound,
  MessageInvalid,
  MessageNotFound,
  MessageUnanswered,
  RunningAgentNotFound,
  PendingMessageLimitReached,
  ResumedAnswerLimitReached,
  ChatSessionLimitReached
} from "@berth/domain/interaction/ConversationErrors"
import { HttpApiSchema } from "@effect/platform"
import { Data, Schema } from "effect"
import { errorClassSchema, errorBody, errorFields } from "../http/ErrorBody.ts"

export const ChatSessionNotFoundBody = errorBody(ChatSessionNotFound, {
  status: 404,
  error: "Session not found",
  message: "You have no conversation with this id.",
  read: () => new ChatSessionNotFound()
})
export const MessageInvalidBody = errorBody(MessageInvalid, {
  status: 400,
  error: "Invalid message",
  message: ({ reason }) => `message: ${reason}`,
  read: (message) => new MessageInvalid({ reason: message.replace(/^message: /, "") })
})
export const RunningAgentNotFoundBody = errorBody(RunningAgentNotFound, {
  status: 404,
  error: "No running agent",
  message: "You have no running agent. Provision one, or start your instance.",
  read: () => new RunningAgentNotFound()
})
export const SkillNotFoundBody = errorBody(SkillNotFound, {
  status: 404,
  error: "Skill not found",
  message: "There is no skill with this id. GET /api/agent?action=skills lists the skills.",
  read: () => new SkillNotFound()
})
export const MessageUnansweredBody = errorBody(MessageUnanswered, {
  status: 500,
  error: "The agent did not answer",
  message: ({ reason }) => `The message was not answered: ${reason}`,
  read: (message) =>
    new MessageUnanswered({
      reason: message.replace(/^The message was not answered: /, "")
    })
})
/** The one error of POST /api/chat for an unanswered message. */
export class ChatFailed extends Data.TaggedError("ChatFailed")<{ readonly reason: string }> {}
export const ChatFailedBody = errorBody(ChatFailed, {
  status: 500,
  error: "failed to send",
  message: ({ reason }) => `The message could not be answered: ${reason}`,
  read: (message) => new ChatFailed({ reason: message.replace(/^The message could not be answered: /, "") })
})

/** Maps the errors of a message to the one of POST /api/chat. */
export const toChatFailed = {
  ChatSessionLimitReached: () => new ChatFailed({ reason: "you have too many conversations" }),
  RunningAgentNotFound: () => new ChatFailed({ reason: "you have no running agent" }),
  AgentNotFound: () => new ChatFailed({ reason: "the agent was deleted" }),
  ChatSessionNotFound: () => new ChatFailed({ reason: "the conversation was deleted" }),
  MessageUnanswered: ({ reason }: MessageUnanswered) => new ChatFailed({ reason })
}

export const MessageNotFoundBody = errorBody(MessageNotFound, {
  status: 404,
  error: "Message not found",
  message: "You have sent no message with this id.",
  read: () => new MessageNotFound()
})

/** `Last-Event-ID` is malformed, or belongs to another message. */
export class LastEventIdInvalid extends Data.TaggedError("LastEventIdInvalid")<object> {}
export const LastEventIdInvalidBody = errorBody(LastEventIdInvalid, {
  status: 400,
  error: "Invalid last event id",
  message: "Last-Event-ID: must be the id of an event of this answer, <messageId>:<number>.",
  read: () => new LastEventIdInvalid()
})

/** `Retry-After` of a rejected message or resumed answer, in seconds. */
export const interactionRetryAfterSeconds = 2

/** 429, with `Retry-After` in the header and the seconds again in the body. */
export const PendingMessageLimitReachedBody = Schema.transform(
  Schema.Struct({
    ...errorFields("pending_message_limit_reached"),
    of: Schema.Literal("session", "user"),
    limit: Schema.Int,
    retryAfter: Schema.Int.annotations({ description: "Seconds" })
  }).annotations({ identifier: "PendingMessageLimitReached" }),
  errorClassSchema(PendingMessageLimitReached),
  {
    strict: true,
    decode: ({ limit, of }) => new PendingMessageLimitReached({ of, limit }),
    encode: ({ limit, of }) => ({
      error: "Too many pending messages",
      message: `${limit} messages of ${of === "session" ? "this conversation" : "yours"} wait for their answers. Wait for some of them.`,
      code: "pending_message_limit_reached" as const,
      of,
      limit,
      retryAfter: interactionRetryAfterSeconds
    })
  }
).annotations(HttpApiSchema.annotations({ status: 429, description: "Too many messages wait for their answers" }))

/** 429, with `Retry-After` in the header and the seconds again in the body. */
export const ResumedAnswerLimitReachedBody = Schema.transform(
  Schema.Struct({
    ...errorFields("resumed_answer_limit_reached"),
    limit: Schema.Int,
    retryAfter: Schema.Int.annotations({ description: "Seconds" })
  }).annotations({ identifier: "ResumedAnswerLimitReached" }),
  errorClassSchema(ResumedAnswerLimitReached),
  {
    strict: true,
    decode: ({ limit }) => new ResumedAnswerLimitReached({ limit }),
    encode: ({ limit }) => ({
      error: "Too many resumed answers",
      message: `You are reading ${limit} resumed answers, which is the limit. Close one of them, or use the agent's WebSocket.`,
      code: "resumed_answer_limit_reached" as const,
      limit,
      retryAfter: interactionRetryAfterSeconds
    })
  }
).annotations(HttpApiSchema.annotations({ status: 429, description: "Too many answers are resumed at a time" }))

export const ChatSessionLimitReachedBody = Schema.transform(
  Schema.Struct({ ...errorFields("chat_session_limit_reached"), limit: Schema.Int }).annotations({
    identifier: "ChatSessionLimitReached"
  }),
  errorClassSchema(ChatSessionLimitReached),
  {
    strict: true,
    decode: ({ limit }) => new ChatSessionLimitReached({ limit }),
    encode: ({ limit }) => ({
      error: "Too many conversations",
      message: `You have ${limit} conversations, which is the limit. POST /api/instance/:userId/reset-memory deletes them.`,
      code: "chat_session_limit_reached" as const,
      limit
    })
  }
).annotations(HttpApiSchema.annotations({ status: 429, description: "Too many conversations" }))
