import type { OutgoingPart } from "@berth/domain/channels/ChannelPlatform"
import { splitMarkdown } from "../MarkdownSplit.ts"
import { translateMarkdown } from "./TelegramHtml.ts"

/** UTF-16 units of one message: https://core.telegram.org/bots/api#sendmessage */
export const maximumTextLength = 4096

/** The messages of a Markdown text. Blank ones are left out, since Telegram refuses them. */
export const splitForTelegram = (markdown: string): ReadonlyArray<OutgoingPart> =>
  splitMarkdown(markdown, maximumTextLength)
    .map(({ prefix, suffix, text }) => `${prefix}${text}${suffix}`)
    .filter((plain) => plain.trim() !== "")
    .map((plain) => ({ plain, formatted: translateMarkdown(plain) }))
