import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { ChatSessionId, MessageId } from "@berth/domain/interaction/Conversation"
import { Data, Schema } from "effect"
import { AgentIsUnknownBody } from "../agents/AgentErrorBodies.ts"
import { errorBody } from "../http/ErrorBody.ts"
import { InternalFailureBody, ServiceIsUnavailableBody } from "../http/TransportErrors.ts"
import {
  ChatSessionIsUnknownBody,
  LastEventIdIsInvalidBody,
  MessageIsInvalidBody,
  MessageIsUnknownBody,
  MessageWasNotAnsweredBody,
  NoAgentIsRunningBody,
  TooManyArePendingBody,
  TooManySessionsBody,
  UnitsAreExhaustedBody
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
export class FrameIsInvalid extends Data.TaggedError("FrameIsInvalid")<{ readonly reason: string }> {}
export const FrameIsInvalidBody = errorBody(FrameIsInvalid, {
  status: 400,
  code: "invalid_frame",
  error: "Invalid frame",
  message: ({ reason }) => `The frame ${reason}.`,
  read: (message) => new FrameIsInvalid({ reason: message })
})

/** More answers at a time than a socket follows. */
export class TooManyAnswers extends Data.TaggedError("TooManyAnswers")<{ readonly limit: number }> {}
export const TooManyAnswersBody = errorBody(TooManyAnswers, {
  status: 429,
  code: "too_many_answers",
  error: "Too many answers at a time",
  message: ({ limit }) => `This socket follows ${limit} answers already. Wait for some of them.`,
  read: () => new TooManyAnswers({ limit: 0 })
})

/** Whatever can be wrong with a frame, in the words that the routes have for it. */
export const FrameErrorBody = Schema.Union(
  FrameIsInvalidBody,
  TooManyAnswersBody,
  MessageIsInvalidBody,
  NoAgentIsRunningBody,
  AgentIsUnknownBody,
  ChatSessionIsUnknownBody,
  UnitsAreExhaustedBody,
  TooManyArePendingBody,
  TooManySessionsBody,
  LastEventIdIsInvalidBody,
  MessageIsUnknownBody,
  MessageWasNotAnsweredBody,
  ServiceIsUnavailableBody,
  InternalFailureBody
)
export type FrameError = typeof FrameErrorBody.Type

/** The request is no WebSocket handshake: 426. */
export class UpgradeIsRequired extends Data.TaggedError("UpgradeIsRequired")<object> {}
export const UpgradeIsRequiredBody = errorBody(UpgradeIsRequired, {
  status: 426,
  code: "upgrade_required",
  error: "Upgrade required",
  message: "This path speaks WebSocket (RFC 6455, version 13).",
  read: () => new UpgradeIsRequired()
})

/** The user has as many sockets open as anybody may have. */
export class TooManySockets extends Data.TaggedError("TooManySockets")<{ readonly limit: number }> {}
export const TooManySocketsBody = errorBody(TooManySockets, {
  status: 429,
  code: "too_many_sockets",
  error: "Too many sockets",
  message: ({ limit }) => `You have ${limit} sockets open. Close some of them.`,
  read: () => new TooManySockets({ limit: 0 })
})
