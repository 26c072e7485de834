import {
  ChannelFileTooLarge,
  PlatformRequestRefused,
  PlatformUnreachable,
  WebhookMalformed,
  WebhookNotAuthentic
} from "@berth/domain/channels/ChannelErrors"
import type { ChannelPlatform, ConnectedBot, OutgoingAddress } from "@berth/domain/channels/ChannelPlatform"
import { Digests } from "@berth/domain/secrets/Digests"
import type { HttpClient } from "@effect/platform"
import { Duration, Effect, Either, Option, Redacted, Schema, Stream } from "effect"
import { makeTelegramClient, type TelegramFailure } from "./TelegramClient.ts"
import { splitForTelegram } from "./TelegramText.ts"
import { allowedUpdates, parseTelegramUpdates, TelegramUpdate } from "./TelegramUpdate.ts"

const Me = Schema.Struct({ id: Schema.Number, is_bot: Schema.Literal(true), username: Schema.String })
const Sent = Schema.Struct({ message_id: Schema.Int })
const FilePath = Schema.Struct({ file_path: Schema.String })
const Updates = Schema.Array(TelegramUpdate)
const decodeUpdate = Schema.decodeUnknownEither(Schema.parseJson(TelegramUpdate))

/** Maximum seconds of a long poll for updates. */
const pollSeconds = 25
const pollLimits = { timeout: Duration.seconds(pollSeconds + 10), maximumBytes: 8 * 1024 * 1024 }
const updatesPerPoll = 100
/** Telegram serves files of up to 20 MB. */
const maximumFileBytes = 10 * 1024 * 1024

const secretHeader = "x-telegram-bot-api-secret-token"

/** Parses a chat id, with the topic after a slash if there are topics. */
const parseChat = (chatId: string) => {
  const [chat = "", thread] = chatId.split("/")
  return { chat_id: chat, ...(thread === undefined ? {} : { message_thread_id: Number(thread) }) }
}

/** Only readers conflict; elsewhere a conflict is an ordinary rejection. */
const withoutConflict = <A>(call: Effect.Effect<A, TelegramFailure>) =>
  Effect.catchTag(call, "ChannelReaderConflict", ({ reason }) => new PlatformRequestRefused({ reason }))

const noVerdict = (reason: string) => new PlatformUnreachable({ reason, mayHaveArrived: false })

const isFormatRefused = (reason: string) => /can't parse|entit/i.test(reason)

/** The Telegram Bot API: https://core.telegram.org/bots/api */
export const makeTelegramPlatform = Effect.fnUntraced(function* (
  apiUrl: URL
): Effect.fn.Return<ChannelPlatform, never, HttpClient.HttpClient | Digests> {
  const client = yield* makeTelegramClient(apiUrl)
  const { equal } = yield* Digests

  const sendText = (
    { secrets }: ConnectedBot,
    { chatId, part, replyTo }: OutgoingAddress,
    text: string,
    isHtml: boolean
  ) =>
    client.call(
      secrets.token,
      "sendMessage",
      {
        ...parseChat(chatId),
        text,
        ...(isHtml ? { parse_mode: "HTML" as const } : {}),
        link_preview_options: { is_disabled: true },
        ...(replyTo === null || part > 0
          ? {}
          : { reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true } })
      },
      Sent
    )

  const readAfter = (bot: ConnectedBot, cursor: string | null) =>
    client.call(
      bot.secrets.token,
      "getUpdates",
      {
        ...(cursor === null ? {} : { offset: Number(cursor) }),
        timeout: pollSeconds,
        limit: updatesPerPoll,
        allowed_updates: [...allowedUpdates]
      },
      Updates,
      pollLimits
    )

  return {
    platform: "platformA",
    hasWebhook: true,
    verify: ({ token }) =>
      client.call(token, "getMe", undefined, Me).pipe(
        Effect.map(({ id, username }) => ({ id: String(id), name: username, details: {} })),
        Effect.catchTags({
          ChannelReaderConflict: ({ reason }) => noVerdict(reason),
          PlatformRequestRefused: ({ reason }) => noVerdict(reason),
          PlatformThrottled: () => noVerdict("Telegram asks to wait.")
        })
      ),
    activate: ({ secrets }, webhookUrl) =>
      withoutConflict(
        Effect.asVoid(
          Option.match(webhookUrl, {
            onNone: () => client.call(secrets.token, "deleteWebhook", {}, Schema.Literal(true)),
            onSome: ({ href }) =>
              client.call(
                secrets.token,
                "setWebhook",
                {
                  url: href,
                  secret_token: Redacted.value(secrets.webhookSecret),
                  allowed_updates: [...allowedUpdates]
                },
                Schema.Literal(true)
              )
          })
        )
      ),
    deactivate: ({ secrets }) =>
      withoutConflict(Effect.asVoid(client.call(secrets.token, "deleteWebhook", {}, Schema.Literal(true)))),
    receive: (bot, { body, headers }) =>
      Either.gen(function* () {
        const shown = Redacted.make(headers[secretHeader] ?? "")
        if (!equal(shown, bot.secrets.webhookSecret)) return yield* Either.left(new WebhookNotAuthentic())
        const update = yield* Either.mapLeft(decodeUpdate(new TextDecoder().decode(body)), () => new WebhookMalformed())
        return { messages: parseTelegramUpdates([update], bot.bot) }
      }),
    read: (bot, cursor) =>
      Stream.paginateEffect(cursor, (from) =>
        Effect.map(readAfter(bot, from), (updates) => {
          const last = updates.at(-1)
          const next = last === undefined ? from : String(last.update_id + 1)
          return [{ messages: parseTelegramUpdates(updates, bot.bot), cursor: next }, Option.some(next)] as const
        })
      ),
    split: splitForTelegram,
    send: (bot, to, { formatted, plain }) =>
      sendText(bot, to, formatted, true).pipe(
        Effect.catchIf(
          (failure) => failure._tag === "PlatformRequestRefused" && isFormatRefused(failure.reason),
          () => sendText(bot, to, plain, false)
        ),
        Effect.map(({ message_id }) => String(message_id)),
        withoutConflict
      ),
    showTyping: ({ secrets }, { chatId }) =>
      client
        .call(secrets.token, "sendChatAction", { ...parseChat(chatId), action: "typing" }, Schema.Literal(true))
        .pipe(Effect.asVoid, withoutConflict),
    download: ({ secrets }, { bytes, id }) =>
      Effect.gen(function* () {
        if (bytes !== null && bytes > maximumFileBytes)
          return yield* new ChannelFileTooLarge({ limitBytes: maximumFileBytes })
        const { file_path } = yield* client.call(secrets.token, "getFile", { file_id: id }, FilePath)
        return yield* client.download(secrets.token, file_path, maximumFileBytes)
      }).pipe(Effect.catchTag("ChannelReaderConflict", ({ reason }) => new PlatformRequestRefused({ reason })))
  } satisfies ChannelPlatform
})
