import type { InboundFile, ReceivedMessage } from "@berth/domain/channels/ChannelMessage"
import type { WebhookRequest } from "@berth/domain/channels/ChannelPlatform"
import { DateTime, Duration, Option, Schema } from "effect"
import { createPublicKey, verify } from "node:crypto"
import { type DiscordAttachment, DiscordInteraction, DiscordMessage, type DiscordUser } from "./DiscordObjects.ts"

/* Parses messages and slash commands for an agent. Pure. */

/** Default messages and replies. */
const messageTypes = new Set([0, 19])
const pingType = 1
const commandType = 2

const nameOf = ({ global_name, username }: DiscordUser) => global_name ?? username

/** Discord's ids begin with the time in milliseconds, which orders the messages and fits a number exactly. */
const sequenceOf = (id: string): number => Number(/^\d{1,20}$/.test(id) ? BigInt(id) >> 22n : 0n)

const readCommand = (text: string): string | null => /^\/([a-z]+)\s*$/.exec(text)?.[1] ?? null

const fileKinds: ReadonlyArray<readonly [string, InboundFile["kind"]]> = [
  ["image/", "photo"],
  ["audio/", "audio"],
  ["video/", "video"]
]

const findFileKind = ({ content_type, waveform }: DiscordAttachment): InboundFile["kind"] =>
  (waveform ?? null) === null
    ? (fileKinds.find(([prefix]) => content_type?.startsWith(prefix) === true)?.[1] ?? "document")
    : "voice"

const toFile = (attachment: DiscordAttachment): InboundFile => ({
  kind: findFileKind(attachment),
  id: attachment.url,
  name: attachment.filename,
  mediaType: attachment.content_type ?? null,
  bytes: attachment.size,
  seconds: attachment.duration_secs ?? null
})

const decodeMessage = Schema.decodeUnknownOption(DiscordMessage)

/**
 * Reads a direct message, or a server's message that mentions the bot or replies to it. None for messages of the bot
 * itself and of webhooks.
 */
export const readMessage = (data: unknown, botId: string): Option.Option<ReceivedMessage> =>
  Option.flatMap(decodeMessage(data), (message) => {
    const { attachments, author, channel_id, content, id, mentions, referenced_message, type, webhook_id } = message
    const isGroup = (message.guild_id ?? null) !== null
    const isAddressed =
      !isGroup || mentions.some((user) => user.id === botId) || referenced_message?.author.id === botId
    const isFromUser = author.id !== botId && (webhook_id ?? null) === null && messageTypes.has(type)
    const text = content.replaceAll(new RegExp(`<@!?${botId}>`, "g"), "").trim()
    if (!isAddressed || !isFromUser || (text === "" && attachments.length === 0)) return Option.none()
    return Option.some({
      chatId: channel_id,
      externalId: id,
      version: 0,
      sequence: sequenceOf(id),
      content: {
        messageId: id,
        text,
        senderName: nameOf(author),
        senderIsBot: author.bot,
        isGroup,
        command: readCommand(text),
        files: attachments.map(toFile)
      }
    })
  })

const answerPrefix = "interaction:"

/** Makes the address of the answer to a slash command, used as a message id. */
const makeAnswerAddress = (applicationId: string, token: string): string => `${answerPrefix}${applicationId}:${token}`

export const parseAnswerAddress = (
  replyTo: string | null
): Option.Option<{ readonly applicationId: string; readonly token: string }> => {
  const [, applicationId, token] = /^interaction:(\d+):(.+)$/.exec(replyTo ?? "") ?? []
  return applicationId === undefined || token === undefined ? Option.none() : Option.some({ applicationId, token })
}

type InteractionRequest =
  | { readonly _tag: "Ping" }
  | {
      readonly _tag: "Question"
      readonly interactionId: string
      readonly token: string
      readonly message: ReceivedMessage
    }
  | { readonly _tag: "Other" }

const decodeInteraction = Schema.decodeUnknownOption(DiscordInteraction)

/** Reads a ping, or a question to the bot of this application. None for other types and applications. */
export const readInteraction = (data: unknown, applicationId: string): Option.Option<InteractionRequest> =>
  Option.flatMap(decodeInteraction(data), (interaction) => {
    if (interaction.application_id !== applicationId) return Option.none()
    if (interaction.type === pingType) return Option.some({ _tag: "Ping" })
    const user = interaction.user ?? interaction.member?.user
    const question = interaction.data?.options?.find(({ name }) => name === "question")?.value
    const { channel_id, id, token, type } = interaction
    if (type !== commandType || interaction.data?.name !== "ask" || typeof question !== "string")
      return Option.some({ _tag: "Other" })
    if (user === undefined || channel_id === undefined || channel_id === null) return Option.some({ _tag: "Other" })
    return Option.some({
      _tag: "Question",
      interactionId: id,
      token,
      message: {
        chatId: channel_id,
        externalId: id,
        version: 0,
        sequence: sequenceOf(id),
        content: {
          messageId: makeAnswerAddress(applicationId, token),
          text: question,
          senderName: nameOf(user),
          senderIsBot: user.bot,
          isGroup: (interaction.guild_id ?? null) !== null,
          isAnsweredInPlace: true,
          command: null,
          files: []
        }
      }
    })
  })

/** DER prefix of an Ed25519 public key (RFC 8410). */
const spkiPrefix = Buffer.from("302a300506032b6570032100", "hex")

/** Tolerance in both directions. Replays within it are detected by the interaction's id. */
const timestampTolerance = Duration.minutes(5)

const isFresh = (timestamp: string, receivedAt: DateTime.Utc): boolean =>
  /^\d{1,12}$/.test(timestamp) &&
  Math.abs(DateTime.toEpochMillis(receivedAt) - Number(timestamp) * 1_000) <= Duration.toMillis(timestampTolerance)

/** Whether the application's key signed the recent timestamp and raw body of an interaction. */
export const isInteractionAuthentic = (verifyKey: string, { body, headers, receivedAt }: WebhookRequest): boolean => {
  const { "x-signature-ed25519": signature = "", "x-signature-timestamp": timestamp = "" } = headers
  if (!/^[0-9a-f]{64}$/i.test(verifyKey) || !/^[0-9a-f]{128}$/i.test(signature) || !isFresh(timestamp, receivedAt))
    return false
  const key = createPublicKey({
    key: Buffer.concat([spkiPrefix, Buffer.from(verifyKey, "hex")]),
    format: "der",
    type: "spki"
  })
  return verify(null, Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, "hex"))
}
