import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { AnsweringModel } from "@berth/domain/ai/models/AnsweringModel"
import { AttachmentId } from "@berth/domain/interaction/attachments/Attachment"
import { ChatSessionId, MessageId } from "@berth/domain/interaction/Conversation"
import { ToolActivity } from "@berth/domain/skills/tools/ToolActivity"
import { Data, Schema } from "effect"
import { AgentNotFoundBody } from "../agents/AgentErrorBodies.ts"
import { BudgetExceededBody, UnitsExhaustedBody } from "../billing/BillingErrorBodies.ts"
import { errorBody, plainErrorBody } from "../http/ErrorBody.ts"
import { namesFirstItem } from "../http/Payload.ts"
import { InternalFailureBody, ServiceUnavailableBody } from "../http/TransportErrors.ts"
import { AttachmentInvalidBody, AttachmentNotFoundBody, ImagesNotSupportedBody } from "./AttachmentsApi.ts"
import {
  ChatSessionNotFoundBody,
  LastEventIdInvalidBody,
  MessageInvalidBody,
  MessageNotFoundBody,
  MessageUnansweredBody,
  RunningAgentNotFoundBody,
  PendingMessageLimitReachedBody,
  ChatSessionLimitReachedBody
} from "./InteractionErrorBodies.ts"

/*
 * The agents' WebSocket, `/agents/:id/ws`: one JSON object per frame, discriminated by `type`.
 */

/** The subprotocol. Clients that cannot set headers offer it with `berth.bearer.<token>`. */
export const socketProtocol = "berth"
export const bearerProtocolPrefix = "berth.bearer."

/** Maximum client frame; a larger one closes the socket with 1009. */
export const maximumFrameBytes = 256 * 1024

/** Close codes of the server, in addition to those of RFC 6455. */
export const SocketClose = {
  goingAway: 1001,
  /** A binary frame. */
  unsupported: 1003,
  /** Frames arrive faster than they are processed. */
  tooFast: 1008,
  /** The client does not read. Its answers can be resumed on another socket. */
  tooSlow: 1013,
  /** The session ended, or the token was replaced. */
  unauthorized: 4401,
  /** The agent was deleted. */
  gone: 4404
} as const

/** `id` is chosen by the client and correlates responses with the frame. */
const ChatFrame = Schema.Struct({
  type: Schema.Literal("chat"),
  id: Schema.optional(Schema.String.pipe(Schema.maxLength(128))),
  message: Schema.String,
  sessionId: Schema.optional(ChatSessionId),
  attachments: Schema.optional(Schema.Array(AttachmentId).annotations(namesFirstItem)).annotations({
    description: "Ids of files of POST /api/agents/:id/attachments. With files, `message` may be empty"
  })
})
const ResumeFrame = Schema.Struct({ type: Schema.Literal("resume"), lastEventId: Schema.String })
const PingFrame = Schema.Struct({ type: Schema.Literal("ping") })

export const ClientFrame = Schema.Union(ChatFrame, ResumeFrame, PingFrame).annotations({
  parseOptions: { errors: "all" }
})
export type ClientFrame = typeof ClientFrame.Type

/**
 * `status` is sent first and on change, `accepted` after a message is stored, `tool` before and after a tool call. `id`
 * is that of an event in `delta`, `tool`, `done` and an answer's `error` (for `resume`), and that of the frame in
 * `accepted` and in an `error` about a frame.
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
  Schema.Struct({ type: Schema.Literal("tool"), id: Schema.String, call: ToolActivity }),
  Schema.Struct({
    type: Schema.Literal("done"),
    id: Schema.String,
    sessionId: ChatSessionId,
    reply: Schema.String,
    timestamp: Schema.Int.annotations({ description: "Epoch milliseconds" }),
    model: Schema.optional(AnsweringModel.fields.model),
    provider: Schema.optional(AnsweringModel.fields.provider),
    units: Schema.optional(Schema.Int).annotations({ description: "Units booked for the answer" }),
    costMicros: Schema.optional(Schema.Int).annotations({
      description: "Cost of the model calls at their providers, in millionths of a US dollar"
    }),
    durationMs: Schema.optional(Schema.Int).annotations({ description: "Milliseconds from the message to the reply" }),
    stopped: Schema.optional(Schema.Boolean).annotations({
      description: "Whether the answer was stopped; the reply is its text so far"
    })
  }),
  Schema.Struct({
    type: Schema.Literal("error"),
    id: Schema.optional(Schema.String),
    code: Schema.String,
    error: Schema.String,
    message: Schema.String,
    traceId: Schema.optional(Schema.String)
  }),
  Schema.Struct({ type: Schema.Literal("pong") })
)
export type ServerFrame = typeof ServerFrame.Type

/** The frame is not a JSON object of a known type. */
export class FrameInvalid extends Data.TaggedError("FrameInvalid")<{ readonly reason: string }> {}
const FrameInvalidBody = errorBody(FrameInvalid, {
  status: 400,
  error: "Invalid frame",
  message: ({ reason }) => `The frame ${reason}.`,
  example: new FrameInvalid({ reason: "is not a JSON object" }),
  read: (message) => new FrameInvalid({ reason: message })
})

/** The socket has too many concurrent answers. */
export class AnswerLimitReached extends Data.TaggedError("AnswerLimitReached")<{ readonly limit: number }> {}
const AnswerLimitReachedBody = errorBody(AnswerLimitReached, {
  status: 429,
  error: "Too many answers at a time",
  message: ({ limit }) => `This socket streams ${limit} answers already. Wait for some of them.`,
  example: new AnswerLimitReached({ limit: 8 }),
  read: () => new AnswerLimitReached({ limit: 0 })
})

/** Errors of a frame, with the bodies of the routes. */
export const FrameErrorBody = Schema.Union(
  FrameInvalidBody,
  AnswerLimitReachedBody,
  MessageInvalidBody,
  RunningAgentNotFoundBody,
  AgentNotFoundBody,
  ChatSessionNotFoundBody,
  AttachmentInvalidBody,
  AttachmentNotFoundBody,
  ImagesNotSupportedBody,
  UnitsExhaustedBody,
  BudgetExceededBody,
  PendingMessageLimitReachedBody,
  ChatSessionLimitReachedBody,
  LastEventIdInvalidBody,
  MessageNotFoundBody,
  MessageUnansweredBody,
  ServiceUnavailableBody,
  InternalFailureBody
)
export type FrameError = typeof FrameErrorBody.Type

/** The request is not a WebSocket handshake. */
export class UpgradeRequired extends Data.TaggedError("UpgradeRequired")<object> {}
export const UpgradeRequiredBody = plainErrorBody(UpgradeRequired, {
  status: 426,
  error: "Upgrade required",
  message: "Open this path by a WebSocket handshake (RFC 6455, version 13)."
})

/** The handshake has no valid key (RFC 6455 section 4.2.2). */
export class HandshakeKeyInvalid extends Data.TaggedError("HandshakeKeyInvalid")<object> {}
export const HandshakeKeyInvalidBody = plainErrorBody(HandshakeKeyInvalid, {
  status: 400,
  error: "Invalid handshake",
  message: "`Sec-WebSocket-Key` must be 16 bytes in base64."
})

/** Limit of a user's open sockets in one process. */
export class SocketLimitReached extends Data.TaggedError("SocketLimitReached")<{ readonly limit: number }> {}
export const SocketLimitReachedBody = errorBody(SocketLimitReached, {
  status: 429,
  error: "Too many sockets",
  message: ({ limit }) => `You have ${limit} sockets open. Close some of them.`,
  example: new SocketLimitReached({ limit: 20 }),
  read: () => new SocketLimitReached({ limit: 0 })
})
