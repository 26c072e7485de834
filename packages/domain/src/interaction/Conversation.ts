import { Schema } from "effect"
import type { AnsweringModel } from "../ai/models/AnsweringModel.ts"
import { idSchema } from "../ids/IdGenerator.ts"
import { AgentId } from "../shared/AgentId.ts"
import type { Units, UsdMicros } from "../shared/Money.ts"
import { UserId } from "../shared/UserId.ts"
import { ToolActivity } from "../skills/tools/ToolActivity.ts"
import { Attachment } from "./attachments/Attachment.ts"

export const ChatSessionId = idSchema("ChatSessionId", "Id of a conversation, chs_…")
export type ChatSessionId = typeof ChatSessionId.Type
export const MessageId = idSchema("MessageId", "Id of a message, msg_…")
export type MessageId = typeof MessageId.Type

/** A conversation of a user with an agent. */
export const ChatSession = Schema.Struct({
  id: ChatSessionId,
  userId: UserId,
  agentId: AgentId,
  /** Set by the user. */
  title: Schema.NullOr(Schema.String),
  status: Schema.Literal("active"),
  messageCount: Schema.Int,
  createdAt: Schema.DateTimeUtcFromSelf,
  lastActivity: Schema.DateTimeUtcFromSelf
})
export type ChatSession = typeof ChatSession.Type

export const Sender = Schema.Literal("user", "agent")
export type Sender = typeof Sender.Type

/** User messages start `pending` and become `answered` or `failed`; replies are `answered`. */
export const MessageState = Schema.Literal("pending", "answered", "failed")
export type MessageState = typeof MessageState.Type

export const Message = Schema.Struct({
  id: MessageId,
  sessionId: ChatSessionId,
  userId: UserId,
  agentId: AgentId,
  /** Order within the session, from 1. */
  seq: Schema.Int,
  sender: Sender,
  content: Schema.String,
  topic: Schema.NullOr(Schema.String),
  platform: Schema.String,
  state: MessageState,
  /** Reason of a failed message; null if the answering process died. */
  failure: Schema.NullOr(Schema.String),
  /** Answering model; replies only. */
  model: Schema.NullOr(Schema.String),
  provider: Schema.NullOr(Schema.String),
  /** Units booked for the turn; replies only. */
  units: Schema.NullOr(Schema.Int.pipe(Schema.brand("Units"))),
  /** Cost of the turn's model calls at their providers; replies only. */
  costMicros: Schema.NullOr(Schema.Int.pipe(Schema.brand("UsdMicros"))),
  /** Time from the message to its reply; replies only. */
  durationMs: Schema.NullOr(Schema.Int),
  /** The user stopped the answer: the reply is its text so far; a message without any text is failed. */
  isStopped: Schema.Boolean,
  /** Tool calls of the answer; replies only. Null if there are none. */
  toolCalls: Schema.NullOr(Schema.Array(ToolActivity)),
  /** User messages only; null if there are none. */
  attachments: Schema.NullOr(Schema.Array(Attachment)),
  createdAt: Schema.DateTimeUtcFromSelf
})
export type Message = typeof Message.Type

export type HistoryMessage = Pick<Message, "seq" | "sender" | "content" | "state" | "attachments">

export interface AnswerCost {
  readonly units: Units
  readonly costMicros: UsdMicros
}

export const maximumTitleLength = 200

/** Failure of a message whose answering process died. */
export const abandonedMessageFailure = "the process that worked on it has ended"

/** Returns the model of a reply, if known. */
export const findAnsweringModel = ({ model, provider }: Message): AnsweringModel | undefined =>
  model === null || provider === null ? undefined : { model, provider }

/** Counts of an agent's answered and failed messages. */
export const MessageFigures = Schema.Struct({
  answered: Schema.Int,
  failed: Schema.Int,
  /** Answered and failed messages of the last hour. */
  recent: Schema.Int,
  /** Average time from a message to its reply, in milliseconds; null without a reply. */
  averageAnswerMs: Schema.NullOr(Schema.Number)
})
export type MessageFigures = typeof MessageFigures.Type

export const maximumMessageLength = 100_000

export const toChatRole = (sender: Sender): "user" | "assistant" => (sender === "user" ? "user" : "assistant")
