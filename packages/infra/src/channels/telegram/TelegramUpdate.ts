import type { BotIdentity } from "@berth/domain/channels/ChannelConnection"
import type { InboundContent, InboundFile, ReceivedMessage } from "@berth/domain/channels/ChannelMessage"
import { Array, Option, Schema } from "effect"

const User = Schema.Struct({
  id: Schema.Number,
  is_bot: Schema.Boolean,
  first_name: Schema.String,
  last_name: Schema.optional(Schema.String),
  username: Schema.optional(Schema.String)
})
const Entity = Schema.Struct({
  type: Schema.String,
  offset: Schema.Int,
  length: Schema.Int,
  user: Schema.optional(Schema.Struct({ id: Schema.Number }))
})
const File = Schema.Struct({
  file_id: Schema.String,
  file_name: Schema.optional(Schema.String),
  mime_type: Schema.optional(Schema.String),
  file_size: Schema.optional(Schema.Number),
  duration: Schema.optional(Schema.Number)
})

/** Members of a message required for an answer: https://core.telegram.org/bots/api#message */
const Message = Schema.Struct({
  message_id: Schema.Int,
  date: Schema.Number,
  edit_date: Schema.optional(Schema.Number),
  chat: Schema.Struct({ id: Schema.Number, type: Schema.String }),
  message_thread_id: Schema.optional(Schema.Int),
  is_topic_message: Schema.optional(Schema.Boolean),
  from: Schema.optional(User),
  text: Schema.optional(Schema.String),
  caption: Schema.optional(Schema.String),
  entities: Schema.optional(Schema.Array(Entity)),
  caption_entities: Schema.optional(Schema.Array(Entity)),
  reply_to_message: Schema.optional(Schema.Struct({ from: Schema.optional(Schema.Struct({ id: Schema.Number })) })),
  photo: Schema.optional(Schema.Array(File)),
  document: Schema.optional(File),
  voice: Schema.optional(File),
  audio: Schema.optional(File),
  video: Schema.optional(File),
  video_note: Schema.optional(File),
  sticker: Schema.optional(File)
})
type Message = typeof Message.Type

/** Subscribed kinds of updates; others are ignored. */
export const allowedUpdates = ["message", "edited_message"] as const

export const TelegramUpdate = Schema.Struct({
  update_id: Schema.Int,
  message: Schema.optional(Schema.Unknown),
  edited_message: Schema.optional(Schema.Unknown)
})
export type TelegramUpdate = typeof TelegramUpdate.Type

/** Time after which an edit is not answered as a new message. */
const editWindowSeconds = 10 * 60

const decodeMessage = Schema.decodeUnknownOption(Message)

const fileOf = (kind: InboundFile["kind"], file: typeof File.Type | undefined): ReadonlyArray<InboundFile> =>
  file === undefined
    ? []
    : [
        {
          kind,
          id: file.file_id,
          name: file.file_name ?? null,
          mediaType: file.mime_type ?? null,
          bytes: file.file_size ?? null,
          seconds: file.duration ?? null
        }
      ]

const filesOf = (message: Message): ReadonlyArray<InboundFile> => [
  // Sizes of a photo, the largest last.
  ...fileOf("photo", message.photo?.at(-1)),
  ...fileOf("document", message.document),
  ...fileOf("voice", message.voice),
  ...fileOf("audio", message.audio),
  ...fileOf("video", message.video ?? message.video_note),
  ...fileOf("sticker", message.sticker)
]

interface Addressing {
  readonly isAddressed: boolean
  readonly command: string | null
  readonly text: string
}

/** Entities count UTF-16 units, like JavaScript strings. */
const findAddressing = (message: Message, bot: BotIdentity): Addressing => {
  const text = message.text ?? message.caption ?? ""
  const entities = message.entities ?? message.caption_entities ?? []
  const textOf = ({ length, offset }: typeof Entity.Type) => text.slice(offset, offset + length)
  const name = `@${bot.name}`.toLowerCase()
  const first = entities.find(({ offset, type }) => type === "bot_command" && offset === 0)
  const [verb = "", addressee] = first === undefined ? [] : textOf(first).slice(1).toLowerCase().split("@")
  const isForBot = first !== undefined && (addressee === undefined || `@${addressee}` === name)
  const mention = entities.find(
    (entity) =>
      (entity.type === "mention" && textOf(entity).toLowerCase() === name) ||
      (entity.type === "text_mention" && String(entity.user?.id) === bot.id)
  )
  const isReply = String(message.reply_to_message?.from?.id) === bot.id
  // A mention at the beginning is only an address.
  const rest = mention?.offset === 0 ? text.slice(mention.length).trimStart() : text
  return {
    isAddressed: message.chat.type === "private" || isForBot || mention !== undefined || isReply,
    command: isForBot ? verb : null,
    text: rest
  }
}

const chatIdOf = ({ chat, is_topic_message, message_thread_id }: Message): string =>
  is_topic_message === true && message_thread_id !== undefined ? `${chat.id}/${message_thread_id}` : String(chat.id)

const toReceived = (message: Message, bot: BotIdentity): Option.Option<ReceivedMessage> => {
  const { from } = message
  const { command, isAddressed, text } = findAddressing(message, bot)
  const files = filesOf(message)
  if (from === undefined || String(from.id) === bot.id || !isAddressed) return Option.none()
  if (text.trim() === "" && files.length === 0 && command === null) return Option.none()
  if (message.edit_date !== undefined && message.edit_date - message.date > editWindowSeconds) return Option.none()
  const content: InboundContent = {
    messageId: String(message.message_id),
    text,
    senderName: [from.first_name, from.last_name].filter((part) => part !== undefined).join(" "),
    senderIsBot: from.is_bot,
    isGroup: message.chat.type !== "private",
    command,
    files
  }
  return Option.some({
    chatId: chatIdOf(message),
    externalId: `${bot.id}/${message.chat.id}/${message.message_id}`,
    version: message.edit_date ?? 0,
    sequence: message.message_id,
    content
  })
}

/** Parses the messages that the bot answers. Unknown kinds and formats contain none. */
export const parseTelegramUpdates = (
  updates: ReadonlyArray<TelegramUpdate>,
  bot: BotIdentity
): ReadonlyArray<ReceivedMessage> =>
  Array.filterMap(updates, ({ edited_message, message }) =>
    Option.flatMap(decodeMessage(message ?? edited_message), (received) => toReceived(received, bot))
  )
