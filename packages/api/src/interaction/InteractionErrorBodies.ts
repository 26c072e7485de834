import {
  ChatSessionNotFound,
  MessageInvalid,
  MessageNotFound,
  NoteNotFound,
  MessageUnanswered,
  RunningAgentNotFound,
  PendingMessageLimitReached,
  ResumedAnswerLimitReached,
  ChatSessionLimitReached,
  TitleInvalid
} from "@berth/domain/interaction/ConversationErrors"
import type { AgentNotFound } from "@berth/domain/agents/AgentErrors"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { Data, Duration, type Effect, Schema } from "effect"
import { plainErrorBody, extendedErrorBody, fieldsErrorBody, reasonErrorBody } from "../http/ErrorBody.ts"
import { toRetryAfterSeconds } from "../limits/RateLimits.ts"

export const ChatSessionNotFoundBody = plainErrorBody(ChatSessionNotFound, {
  status: 404,
  error: "Session not found",
  message: "You have no conversation with this id."
})
export const MessageInvalidBody = reasonErrorBody(MessageInvalid, {
  status: 400,
  error: "Invalid message",
  prefix: "message: ",
  example: "must not be empty."
})
export const TitleInvalidBody = reasonErrorBody(TitleInvalid, {
  status: 400,
  error: "Invalid title",
  prefix: "title: ",
  example: "must have 1 to 200 characters."
})
export const RunningAgentNotFoundBody = plainErrorBody(RunningAgentNotFound, {
  status: 404,
  error: "No running agent",
  message: "You have no running agent. Provision one, or start your instance."
})
export const MessageUnansweredBody = reasonErrorBody(MessageUnanswered, {
  status: 500,
  error: "The agent did not answer",
  prefix: "The message was not answered: ",
  example: "the instance does not respond"
})
/** The only error of POST /api/chat for an unanswered message. */
export class ChatFailed extends Data.TaggedError("ChatFailed")<{ readonly reason: string }> {}
export const ChatFailedBody = reasonErrorBody(ChatFailed, {
  status: 500,
  error: "failed to send",
  prefix: "The message could not be answered: ",
  example: "you have no running agent"
})

/** Maps the errors of a message to the error of POST /api/chat. A named agent that is not the caller's remains 404. */
export const toChatFailed = (agentId: AgentId | undefined) => ({
  ChatSessionLimitReached: () => new ChatFailed({ reason: "you have too many conversations" }),
  RunningAgentNotFound: () => new ChatFailed({ reason: "you have no running agent" }),
  AgentNotFound: (error: AgentNotFound): Effect.Effect<never, AgentNotFound | ChatFailed> =>
    agentId === undefined ? new ChatFailed({ reason: "the agent was deleted" }) : error,
  ChatSessionNotFound: () => new ChatFailed({ reason: "the conversation was deleted" }),
  MessageUnanswered: ({ reason }: MessageUnanswered) => new ChatFailed({ reason })
})

export const NoteNotFoundBody = plainErrorBody(NoteNotFound, {
  status: 404,
  error: "Note not found",
  message: "The agent has no note with this id."
})

export const MessageNotFoundBody = plainErrorBody(MessageNotFound, {
  status: 404,
  error: "Message not found",
  message: "You have sent no message with this id."
})

/** `Last-Event-ID` is malformed, or belongs to another message. */
export class LastEventIdInvalid extends Data.TaggedError("LastEventIdInvalid")<object> {}
export const LastEventIdInvalidBody = plainErrorBody(LastEventIdInvalid, {
  status: 400,
  error: "Invalid last event id",
  message: "Last-Event-ID: must be the id of an event of this answer, <messageId>:<number>."
})

/** `Retry-After` for a rejected message or resumed answer. */
export const interactionRetryAfter = Duration.seconds(2)

/** 429, with `Retry-After` in the header and in the body. */
export const PendingMessageLimitReachedBody = extendedErrorBody(
  PendingMessageLimitReached,
  Schema.Struct({
    of: Schema.Literal("session", "user"),
    limit: Schema.Int,
    retryAfter: Schema.Int.annotations({ description: "Seconds" })
  }),
  {
    status: 429,
    error: "Too many pending messages",
    message: ({ limit, of }) =>
      `${limit} messages of ${of === "session" ? "this conversation" : "yours"} wait for their answers. Wait for some of them.`,
    members: ({ limit, of }) => ({ of, limit, retryAfter: toRetryAfterSeconds(interactionRetryAfter) }),
    example: new PendingMessageLimitReached({ of: "session", limit: 16 }),
    read: (_, { limit, of }) => new PendingMessageLimitReached({ of, limit })
  }
)

/** 429, with `Retry-After` in the header and in the body. */
export const ResumedAnswerLimitReachedBody = extendedErrorBody(
  ResumedAnswerLimitReached,
  Schema.Struct({ limit: Schema.Int, retryAfter: Schema.Int.annotations({ description: "Seconds" }) }),
  {
    status: 429,
    error: "Too many resumed answers",
    message: ({ limit }) =>
      `You are reading ${limit} resumed answers, which is the limit. Close one of them, or use the agent's WebSocket.`,
    members: ({ limit }) => ({ limit, retryAfter: toRetryAfterSeconds(interactionRetryAfter) }),
    example: new ResumedAnswerLimitReached({ limit: 16 }),
    read: (_, { limit }) => new ResumedAnswerLimitReached({ limit })
  }
)

export const ChatSessionLimitReachedBody = fieldsErrorBody(ChatSessionLimitReached, {
  status: 429,
  error: "Too many conversations",
  message: ({ limit }) =>
    `You have ${limit} conversations, which is the limit. POST /api/instance/:userId/reset-memory deletes them.`,
  members: Schema.Struct({ limit: Schema.Int }),
  example: { limit: 1000 }
})
