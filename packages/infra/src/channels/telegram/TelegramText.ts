import type { OutgoingPart } from "@berth/domain/channels/ChannelPlatform"
import { splitMarkdown } from "../MarkdownSplit.ts"
import { translateMarkdown } from "./TelegramHtml.ts"

/** Maximum UTF-16 units of a message: https://core.telegram.org/bots/api#sendmessage */
export const maximumTextLength = 4096

/** Splits a Markdown text into messages. Omits blank ones, which Telegram rejects. */
export const splitForTelegram = (markdown: string): ReadonlyArray<OutgoingPart> =>
  splitMarkdown(markdown, maximumTextLength)
    .map(({ prefix, suffix, text }) => `${prefix}${text}${suffix}`)
    .filter((plain) => plain.trim() !== "")
    .map((plain) => ({ plain, formatted: translateMarkdown(plain) }))
