import { Schema } from "effect"
import { ChannelKey } from "./ChannelConnection.ts"
import { idSchema } from "../ids/IdGenerator.ts"

export const InboundId = idSchema("InboundId", "Id of a received message, inb_…")
export type InboundId = typeof InboundId.Type
export const OutboundId = idSchema("OutboundId", "Id of a message to a chat, out_…")
export type OutboundId = typeof OutboundId.Type

/** A chat of an agent on a platform. `chatId` includes the thread where the platform has threads. */
export const ChatKey = Schema.Struct({ ...ChannelKey.fields, chatId: Schema.String })
export type ChatKey = typeof ChatKey.Type

export const FileKind = Schema.Literal("photo", "document", "voice", "audio", "video", "sticker", "other")
export type FileKind = typeof FileKind.Type

/** A file of a message; `id` is the adapter's handle for its download. */
export const InboundFile = Schema.Struct({
  kind: FileKind,
  id: Schema.String,
  name: Schema.NullOr(Schema.String),
  mediaType: Schema.NullOr(Schema.String),
  bytes: Schema.NullOr(Schema.Number),
  seconds: Schema.NullOr(Schema.Number)
})
export type InboundFile = typeof InboundFile.Type

/** The content of a message that an agent answers. */
export const InboundContent = Schema.Struct({
  /** Id of the message in its chat, for replies. */
  messageId: Schema.String,
  text: Schema.String,
  senderName: Schema.String,
  senderIsBot: Schema.Boolean,
  /** False in a private chat with one person. */
  isGroup: Schema.Boolean,
  /**
   * Whether the platform expects the answer in place of this message, like commands of Discord. Answers in groups are
   * always replies.
   */
  isAnsweredInPlace: Schema.optional(Schema.Boolean),
  /** `start`, `help`, `reset` or another name after the platform's command prefix; null for other messages. */
  command: Schema.NullOr(Schema.String),
  files: Schema.Array(InboundFile)
})
export type InboundContent = typeof InboundContent.Type

/** A message addressed to the bot, as parsed by an adapter. */
export interface ReceivedMessage {
  readonly chatId: string
  /** Unique per agent and platform, even if the bot is replaced. An edit has the id of its message. */
  readonly externalId: string
  /** Increases with every edit of the message. */
  readonly version: number
  /** The platform's order within the chat. */
  readonly sequence: number
  readonly content: InboundContent
}

/** A stored message; `waiting` until it is answered. */
export const InboundMessage = Schema.Struct({
  ...ChatKey.fields,
  id: InboundId,
  content: InboundContent,
  /** Turns of the message that ended before their model call. */
  failedTurns: Schema.Int,
  /** Time since the first turn that could not begin; zero before. */
  sinceFirstTurn: Schema.DurationFromMillis
})
export type InboundMessage = typeof InboundMessage.Type

/** A text for a chat, sent in parts. */
export const OutboundMessage = Schema.Struct({
  ...ChatKey.fields,
  id: OutboundId,
  replyTo: Schema.NullOr(Schema.String),
  text: Schema.String,
  partsSent: Schema.Int,
  /** Part that was being sent without a recorded outcome. */
  startedPart: Schema.NullOr(Schema.Int),
  failures: Schema.Int
})
export type OutboundMessage = typeof OutboundMessage.Type
