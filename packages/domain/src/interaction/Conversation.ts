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
  /** Given by the user. */
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
  /** Why a failed message was not answered; null when the answering process died. */
  failure: Schema.NullOr(Schema.String),
  /** The model that answered, of replies. */
  model: Schema.NullOr(Schema.String),
  provider: Schema.NullOr(Schema.String),
  /** Units booked for the turn, of replies. */
  units: Schema.NullOr(Schema.Int.pipe(Schema.brand("Units"))),
  /** Cost of the turn's model calls at their providers, of replies. */
  costMicros: Schema.NullOr(Schema.Int.pipe(Schema.brand("UsdMicros"))),
  /** From the message to its reply, of replies. */
  durationMs: Schema.NullOr(Schema.Int),
  /** The user stopped the answer: the reply is its text so far, and a message without any text has failed. */
  isStopped: Schema.Boolean,
  /** Tool calls of the answer, of replies; null without any. */
  toolCalls: Schema.NullOr(Schema.Array(ToolActivity)),
  /** Of user messages; null without any. */
  attachments: Schema.NullOr(Schema.Array(Attachment)),
  createdAt: Schema.DateTimeUtcFromSelf
})
export type Message = typeof Message.Type

/** A message of a prompt's history. */
export type HistoryMessage = Pick<Message, "seq" | "sender" | "content" | "state" | "attachments">

/** The price of an answer. */
export interface AnswerCost {
  readonly units: Units
  readonly costMicros: UsdMicros
}

export const maximumTitleLength = 200

/** The failure of a message whose answering process died. */
export const abandonedMessageFailure = "the process that worked on it has ended"

/** The model of a reply, where it is known. */
export const findAnsweringModel = ({ model, provider }: Message): AnsweringModel | undefined =>
  model === null || provider === null ? undefined : { model, provider }

/** Outcomes of the messages to an agent, without pending ones. */
export const MessageFigures = Schema.Struct({
  answered: Schema.Int,
  failed: Schema.Int,
  /** Answered and failed ones of the last hour. */
  recent: Schema.Int,
  /** From a message to its reply, in milliseconds; null without any reply. */
  averageAnswerMs: Schema.NullOr(Schema.Number)
})
export type MessageFigures = typeof MessageFigures.Type

export const maximumMessageLength = 100_000

export const toChatRole = (sender: Sender): "user" | "assistant" => (sender === "user" ? "user" : "assistant")
