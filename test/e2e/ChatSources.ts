import type { AgentId } from "@berth/domain/shared/AgentId"
import type { MessagingPlatform } from "@berth/domain/shared/Channel"
import { Array, Effect } from "effect"
import { makeFakeDiscord } from "../fakes/channels/FakeDiscord.ts"
import { makeFakeTelegram } from "../fakes/channels/FakeTelegram.ts"
import { makeFakeWhatsApp } from "../fakes/channels/FakeWhatsApp.ts"

/** A person's message in a chat of a bot. */
interface PersonMessage {
  readonly chatId: string
  /** Position in the chat, from 1. */
  readonly place: number
  readonly text: string
}

/** A bot of a platform and the people who write to it. */
interface ChatSource {
  readonly platform: MessagingPlatform
  /** Values of the channel's configuration. */
  readonly channel: Readonly<Record<string, string>>
  readonly makeChatId: (index: number) => string
  readonly isListening: () => boolean
  readonly deliver: (agentId: AgentId, message: PersonMessage) => Effect.Effect<void>
  /** Texts that the bot has sent to a chat. */
  readonly sentTo: (chatId: string) => ReadonlyArray<string>
}

/** Fakes of the three platforms with one bot of platformA and `bots` of each other platform. */
export const makeChatSources = (webUrl: () => string, bots: number) =>
  Effect.gen(function* () {
    const telegram = yield* makeFakeTelegram
    const whatsApp = yield* makeFakeWhatsApp
    const discord = yield* makeFakeDiscord

    const ofTelegram: ChatSource = {
      platform: "platformA",
      channel: { token: telegram.token },
      makeChatId: String,
      isListening: () => telegram.calls("getUpdates").length > 0,
      deliver: (_, { chatId, place, text }) =>
        Effect.sync(() => {
          telegram.addUpdate({
            message: {
              message_id: place * 100 + Number(chatId),
              date: 1_800_000_000,
              chat: { id: Number(chatId), type: "private" },
              from: { id: Number(chatId), is_bot: false, first_name: "Ada" },
              text
            }
          })
        }),
      sentTo: (chatId) => telegram.sent().flatMap((sent) => (sent.chatId === chatId ? [sent.text] : []))
    }

    const makeWhatsAppSource = (bot: number): ChatSource => {
      const account = whatsApp.addAccount()
      return {
        platform: "platformB",
        channel: { token: account.token, appSecret: account.appSecret },
        makeChatId: (index) => `1555${bot}${String(index).padStart(6, "0")}`,
        isListening: () => whatsApp.callbacks.has(account.phoneNumberId),
        deliver: (agentId, { chatId, text }) =>
          Effect.asVoid(
            whatsApp.deliver(account, `${webUrl()}/api/webhooks/platformB/${agentId}`, [
              whatsApp.makeText(chatId, text)
            ])
          ),
        sentTo: (chatId) => whatsApp.sent.flatMap((sent) => (sent.to === chatId ? [sent.text] : []))
      }
    }

    const makeDiscordSource = (bot: number): ChatSource => {
      const account = discord.addBot()
      return {
        platform: "platformC",
        channel: { token: account.token },
        makeChatId: (index) => `30000000000${bot}${String(index).padStart(6, "0")}`,
        isListening: () => discord.isConnected(account),
        deliver: (_, { chatId, text }) =>
          Effect.sync(() => discord.sendMessage(account, { channelId: chatId, content: text })),
        sentTo: (chatId) => discord.posted.flatMap((sent) => (sent.channelId === chatId ? [sent.content] : []))
      }
    }

    return {
      environment: {
        PLATFORM_A_API_URL: telegram.url.href,
        PLATFORM_B_API_URL: whatsApp.apiUrl.href,
        PLATFORM_C_API_URL: discord.apiUrl.href
      },
      sources: [ofTelegram, ...Array.makeBy(bots, makeWhatsAppSource), ...Array.makeBy(bots, makeDiscordSource)]
    }
  })
