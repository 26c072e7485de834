import type { BotIdentity, ChannelSecrets } from "@berth/domain/channels/ChannelConnection"
import type { ChannelPlatform, ConnectedBot, WebhookRequest } from "@berth/domain/channels/ChannelPlatform"
import { makeDiscordPlatform } from "@berth/infra/channels/discord/DiscordPlatform"
import { makeTelegramPlatform } from "@berth/infra/channels/telegram/TelegramPlatform"
import { makeWhatsAppPlatform } from "@berth/infra/channels/whatsapp/WhatsAppPlatform"
import { AgentId } from "@berth/domain/shared/AgentId"
import * as NodeDigests from "@berth/infra/crypto/NodeDigests"
import { FetchHttpClient } from "@effect/platform"
import { DateTime, Effect, Layer, Option, Redacted, type Scope } from "effect"
import { makeFakeDiscord } from "../fakes/channels/FakeDiscord.ts"
import type { CommonFault, PlatformRequest } from "../fakes/channels/FakePlatform.ts"
import { makeFakeTelegram } from "../fakes/channels/FakeTelegram.ts"
import { makeFakeWhatsApp } from "../fakes/channels/FakeWhatsApp.ts"

export const makeSecrets = (token: string, more: Partial<ChannelSecrets> = {}): ChannelSecrets => ({
  token: Redacted.make(token),
  webhookSecret: Redacted.make("webhook-secret"),
  ...more
})

export const toConnected = (bot: BotIdentity, secrets: ChannelSecrets): ConnectedBot => ({
  agentId: AgentId.make("agt_1"),
  bot,
  secrets
})

export const signedAt = DateTime.unsafeMake("2026-03-01T12:00:00Z")

export const makePost = (body: string, headers: Readonly<Record<string, string>> = {}): WebhookRequest => ({
  headers,
  body: Buffer.from(body),
  receivedAt: signedAt
})

/** A messaging platform behind its adapter, as the port spec uses it. */
export interface PlatformUnderTest {
  readonly adapter: ChannelPlatform
  readonly secrets: ChannelSecrets
  readonly chatId: string
  readonly goneChatId: string
  readonly longestText: number
  /** Whether webhook requests are authenticated by a signature of their body instead of a secret. */
  readonly signsBodies: boolean
  readonly trouble: (
    how: "fails" | "limits" | "limits without a time" | CommonFault,
    times?: number,
    path?: RegExp
  ) => void
  readonly endTrouble: () => void
  readonly revokeToken: () => void
  readonly sentTexts: () => ReadonlyArray<string>
  readonly makeRequest: (text: string) => WebhookRequest
  readonly signBody: (body: string) => WebhookRequest
  readonly requests: ReadonlyArray<PlatformRequest>
  readonly addFile: (bytes: Uint8Array) => string
}

export const makeTelegramUnderTest: Effect.Effect<PlatformUnderTest, never, Scope.Scope> = Effect.gen(function* () {
  const fake = yield* makeFakeTelegram
  const adapter = yield* makeTelegramPlatform(fake.url)
  const secrets = makeSecrets(fake.token)
  const signBody = (body: string) =>
    makePost(body, { "x-telegram-bot-api-secret-token": Redacted.value(secrets.webhookSecret) })
  const message = (text: string) => ({
    message_id: 1,
    date: 1_800_000_000,
    chat: { id: 42, type: "private" },
    from: { id: 42, is_bot: false, first_name: "Ada" },
    text
  })
  const platform: PlatformUnderTest = {
    adapter,
    secrets,
    chatId: "42",
    goneChatId: "403",
    longestText: 4_096,
    signsBodies: false,
    trouble: fake.trouble,
    endTrouble: fake.endTrouble,
    revokeToken: () => fake.setRevoked(true),
    sentTexts: () => fake.sent().map(({ text }) => text),
    makeRequest: (text) => signBody(JSON.stringify({ update_id: 1, message: message(text) })),
    signBody,
    requests: fake.requests,
    addFile: (bytes) => {
      fake.addFile("file-1", bytes)
      return "file-1"
    }
  }
  return platform
}).pipe(Effect.provide(Layer.merge(FetchHttpClient.layer, NodeDigests.layer)))

export const makeWhatsAppUnderTest: Effect.Effect<PlatformUnderTest, never, Scope.Scope> = Effect.gen(function* () {
  const fake = yield* makeFakeWhatsApp
  const account = fake.addAccount()
  const adapter = yield* makeWhatsAppPlatform({
    apiUrl: fake.apiUrl,
    appSecret: Option.some(Redacted.make(account.appSecret)),
    verifyToken: Option.none()
  })
  const chatId = "15551230000"
  const goneChatId = "99912300000"
  fake.openWindow(account, chatId)
  fake.openWindow(account, goneChatId)
  const signBody = (body: string) => makePost(body, { "x-hub-signature-256": fake.sign(body, account.appSecret) })
  const platform: PlatformUnderTest = {
    adapter,
    secrets: makeSecrets(account.token),
    chatId,
    goneChatId,
    longestText: 4_096,
    signsBodies: true,
    trouble: fake.trouble,
    endTrouble: fake.endTrouble,
    revokeToken: () => fake.revokeToken(account.token),
    sentTexts: () => fake.sent.map(({ text }) => text),
    makeRequest: (text) => signBody(JSON.stringify(fake.makeNotification(account, [fake.makeText(chatId, text)]))),
    signBody,
    requests: fake.requests,
    addFile: (bytes) => {
      fake.addMedia("1234567890", { bytes, mimeType: "image/jpeg" })
      return "1234567890"
    }
  }
  return platform
}).pipe(Effect.provide(FetchHttpClient.layer))

export const makeDiscordUnderTest: Effect.Effect<PlatformUnderTest, never, Scope.Scope> = Effect.gen(function* () {
  const fake = yield* makeFakeDiscord
  const bot = fake.addBot()
  const adapter = yield* makeDiscordPlatform({ apiUrl: fake.apiUrl })
  const signBody = (body: string) =>
    makePost(body, {
      "x-signature-ed25519": fake.signRequest(bot, body, "1772366400"),
      "x-signature-timestamp": "1772366400"
    })
  const platform: PlatformUnderTest = {
    adapter,
    secrets: makeSecrets(bot.token),
    chatId: "300000000000000001",
    goneChatId: "404000000000000001",
    longestText: 2_000,
    signsBodies: true,
    trouble: fake.trouble,
    endTrouble: fake.endTrouble,
    revokeToken: () => fake.revokeToken(bot),
    sentTexts: () => fake.posted.map(({ content }) => content),
    makeRequest: (text) => signBody(JSON.stringify(fake.makeInteraction(bot, text))),
    signBody,
    requests: fake.requests,
    addFile: (bytes) => fake.addFile("/attachments/1/2/file.png", bytes)
  }
  return platform
}).pipe(Effect.provide(FetchHttpClient.layer))
