import { Schema } from "effect"
import { idSchema } from "../ids/IdGenerator.ts"
import { AgentId } from "../shared/AgentId.ts"
import { UserId } from "../shared/UserId.ts"

export const ChatSessionId = idSchema("ChatSessionId", "A conversation's id, chs_…")
export type ChatSessionId = typeof ChatSessionId.Type
export const MessageId = idSchema("MessageId", "A message's id, msg_…")
export type MessageId = typeof MessageId.Type

/** A conversation of a user with one of his agents. */
export const ChatSession = Schema.Struct({
  id: ChatSessionId,
  userId: UserId,
  agentId: AgentId,
  status: Schema.Literal("active"),
  messageCount: Schema.Int,
  createdAt: Schema.DateTimeUtcFromSelf,
  lastActivity: Schema.DateTimeUtcFromSelf
})
export type ChatSession = typeof ChatSession.Type

export const Sender = Schema.Literal("user", "agent")
export type Sender = typeof Sender.Type

/** `pending` waits for its answer, `answered` has it (replies are `answered` from the start), `failed` never got one. */
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
  /** Channel the message came by. */
  platform: Schema.String,
  state: MessageState,
  createdAt: Schema.DateTimeUtcFromSelf
})
export type Message = typeof Message.Type

/** What became of the messages to an agent; those that wait for their answer are not counted yet. */
export const MessageFigures = Schema.Struct({
  answered: Schema.Int,
  failed: Schema.Int,
  /** Of both, those of the last hour. */
  recent: Schema.Int,
  /** From a message to its reply, in milliseconds; null without any reply. */
  averageAnswerMs: Schema.NullOr(Schema.Number)
})
export type MessageFigures = typeof MessageFigures.Type

/** A message may have at most this many characters. */
export const maximumMessageLength = 100_000

export const toChatRole = (sender: Sender): "user" | "assistant" => (sender === "user" ? "user" : "assistant")
