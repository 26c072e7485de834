import {
  ChatSessionNotFound,
  MessageInvalid,
  MessageNotFound,
  MessageUnanswered,
  RunningAgentNotFound,
  PendingMessageLimitReached,
  ResumedAnswerLimitReached,
  ChatSessionLimitReached,
  TitleInvalid
} from "@berth/domain/interaction/ConversationErrors"
import { Data, Duration, Schema } from "effect"
import { errorBody, plainErrorBody, extendedErrorBody } from "../http/ErrorBody.ts"
import { toRetryAfterSeconds } from "../limits/RateLimits.ts"

export const ChatSessionNotFoundBody = plainErrorBody(ChatSessionNotFound, {
  status: 404,
  error: "Session not found",
  message: "You have no conversation with this id."
})
export const MessageInvalidBody = errorBody(MessageInvalid, {
  status: 400,
  error: "Invalid message",
  message: ({ reason }) => `message: ${reason}`,
  example: new MessageInvalid({ reason: "must not be empty." }),
  read: (message) => new MessageInvalid({ reason: message.replace(/^message: /, "") })
})
export const TitleInvalidBody = errorBody(TitleInvalid, {
  status: 400,
  error: "Invalid title",
  message: ({ reason }) => `title: ${reason}`,
  example: new TitleInvalid({ reason: "must have 1 to 200 characters." }),
  read: (message) => new TitleInvalid({ reason: message.replace(/^title: /, "") })
})
export const RunningAgentNotFoundBody = plainErrorBody(RunningAgentNotFound, {
  status: 404,
  error: "No running agent",
  message: "You have no running agent. Provision one, or start your instance."
})
export const MessageUnansweredBody = errorBody(MessageUnanswered, {
  status: 500,
  error: "The agent did not answer",
  message: ({ reason }) => `The message was not answered: ${reason}`,
  example: new MessageUnanswered({ reason: "the instance does not respond" }),
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
  example: new ChatFailed({ reason: "you have no running agent" }),
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

/** `Retry-After` of a rejected message or resumed answer. */
export const interactionRetryAfter = Duration.seconds(2)

/** 429, with `Retry-After` in the header and the seconds again in the body. */
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

/** 429, with `Retry-After` in the header and the seconds again in the body. */
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

export const ChatSessionLimitReachedBody = extendedErrorBody(
  ChatSessionLimitReached,
  Schema.Struct({ limit: Schema.Int }),
  {
    status: 429,
    error: "Too many conversations",
    message: ({ limit }) =>
      `You have ${limit} conversations, which is the limit. POST /api/instance/:userId/reset-memory deletes them.`,
    members: ({ limit }) => ({ limit }),
    example: new ChatSessionLimitReached({ limit: 1000 }),
    read: (_, { limit }) => new ChatSessionLimitReached({ limit })
  }
)
