import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { ChatSessionId, MessageId } from "@berth/domain/interaction/Conversation"
import { Data, Schema } from "effect"
import { AgentNotFoundBody } from "../agents/AgentErrorBodies.ts"
import { errorBody } from "../http/ErrorBody.ts"
import { InternalFailureBody, ServiceUnavailableBody } from "../http/TransportErrors.ts"
import {
  ChatSessionNotFoundBody,
  LastEventIdInvalidBody,
  MessageInvalidBody,
  MessageNotFoundBody,
  MessageUnansweredBody,
  RunningAgentNotFoundBody,
  PendingMessageLimitReachedBody,
  ChatSessionLimitReachedBody,
  UnitsExhaustedBody
} from "./InteractionErrorBodies.ts"

/*
 * The agents' WebSocket, `/agents/:id/ws`: JSON frames, one object each, told apart by `type`.
 */

/** The subprotocol. A client that can set no header offers it together with `berth.bearer.<token>`. */
export const socketProtocol = "berth"
export const bearerProtocolPrefix = "berth.bearer."

/** A client's frame may have this many bytes; a longer one closes the socket with 1009. */
export const maximumFrameBytes = 256 * 1024

/** What closes a socket from this side, besides the standard's own codes. */
export const SocketClose = {
  goingAway: 1001,
  /** A binary frame. */
  unsupported: 1003,
  /** Frames come faster than they are worked on. */
  tooFast: 1008,
  /** The client does not read what it is sent. Its answers can be resumed on another socket. */
  tooSlow: 1013,
  /** The session has ended, or the token is another one now. */
  unauthorized: 4401,
  /** The agent is gone. */
  gone: 4404
} as const

/** `id` is the client's own, and comes back with what is said about the frame. */
export const ChatFrame = Schema.Struct({
  type: Schema.Literal("chat"),
  id: Schema.optional(Schema.String.pipe(Schema.maxLength(128))),
  message: Schema.String,
  sessionId: Schema.optional(ChatSessionId)
})
export const ResumeFrame = Schema.Struct({ type: Schema.Literal("resume"), lastEventId: Schema.String })
export const PingFrame = Schema.Struct({ type: Schema.Literal("ping") })

/** What a client says. */
export const ClientFrame = Schema.Union(ChatFrame, ResumeFrame, PingFrame).annotations({
  parseOptions: { errors: "all" }
})
export type ClientFrame = typeof ClientFrame.Type

/**
 * What the service says: `status` first and with every change; `accepted` once a message is stored; the pieces of its answer and
 * its end, `id` being the event's, which `resume` takes; `error` about a frame, `id` being the frame's, or instead of an
 * answer, `id` being the event's.
 */
export const ServerFrame = Schema.Union(
  Schema.Struct({ type: Schema.Literal("status"), status: AgentStatus }),
  Schema.Struct({
    type: Schema.Literal("accepted"),
    id: Schema.optional(Schema.String),
    messageId: MessageId,
    sessionId: ChatSessionId
  }),
  Schema.Struct({ type: Schema.Literal("delta"), id: Schema.String, text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("done"),
    id: Schema.String,
    sessionId: ChatSessionId,
    reply: Schema.String,
    timestamp: Schema.Int.annotations({ description: "Epoch milliseconds" })
  }),
  Schema.Struct({
    type: Schema.Literal("error"),
    id: Schema.optional(Schema.String),
    code: Schema.String,
    error: Schema.String,
    message: Schema.String
  }),
  Schema.Struct({ type: Schema.Literal("pong") })
)
export type ServerFrame = typeof ServerFrame.Type

/** A frame that is no JSON object of a known type. */
export class FrameInvalid extends Data.TaggedError("FrameInvalid")<{ readonly reason: string }> {}
export const FrameInvalidBody = errorBody(FrameInvalid, {
  status: 400,
  code: "invalid_frame",
  error: "Invalid frame",
  message: ({ reason }) => `The frame ${reason}.`,
  read: (message) => new FrameInvalid({ reason: message })
})

/** More answers at a time than a socket follows. */
export class AnswerLimitReached extends Data.TaggedError("AnswerLimitReached")<{ readonly limit: number }> {}
export const AnswerLimitReachedBody = errorBody(AnswerLimitReached, {
  status: 429,
  code: "answer_limit_reached",
  error: "Too many answers at a time",
  message: ({ limit }) => `This socket follows ${limit} answers already. Wait for some of them.`,
  read: () => new AnswerLimitReached({ limit: 0 })
})

/** Whatever can be wrong with a frame, in the words that the routes have for it. */
export const FrameErrorBody = Schema.Union(
  FrameInvalidBody,
  AnswerLimitReachedBody,
  MessageInvalidBody,
  RunningAgentNotFoundBody,
  AgentNotFoundBody,
  ChatSessionNotFoundBody,
  UnitsExhaustedBody,
  PendingMessageLimitReachedBody,
  ChatSessionLimitReachedBody,
  LastEventIdInvalidBody,
  MessageNotFoundBody,
  MessageUnansweredBody,
  ServiceUnavailableBody,
  InternalFailureBody
)
export type FrameError = typeof FrameErrorBody.Type

/** The request is no WebSocket handshake: 426. */
export class UpgradeRequired extends Data.TaggedError("UpgradeRequired")<object> {}
export const UpgradeRequiredBody = errorBody(UpgradeRequired, {
  status: 426,
  code: "upgrade_required",
  error: "Upgrade required",
  message: "This path speaks WebSocket (RFC 6455, version 13).",
  read: () => new UpgradeRequired()
})

/** The user has as many sockets open as anybody may have. */
export class SocketLimitReached extends Data.TaggedError("SocketLimitReached")<{ readonly limit: number }> {}
export const SocketLimitReachedBody = errorBody(SocketLimitReached, {
  status: 429,
  code: "socket_limit_reached",
  error: "Too many sockets",
  message: ({ limit }) => `You have ${limit} sockets open. Close some of them.`,
  read: () => new SocketLimitReached({ limit: 0 })
})
