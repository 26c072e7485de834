import { type ChannelPlatform, ChannelPlatforms } from "@berth/domain/channels/ChannelPlatform"
import { ChannelSettings } from "@berth/domain/channels/ChannelSettings"
import type { MessagingPlatform } from "@berth/domain/shared/Channel"
import { FetchHttpClient } from "@effect/platform"
import { Effect, Layer } from "effect"
import { makeDiscordPlatform } from "../channels/discord/DiscordPlatform.ts"
import { makeTelegramPlatform } from "../channels/telegram/TelegramPlatform.ts"
import { makeWhatsAppPlatform } from "../channels/whatsapp/WhatsAppPlatform.ts"
import type { Settings } from "../configuration/Settings.ts"

interface ChannelsOptions extends Pick<Settings, "platforms"> {
  readonly appUrl: URL
}

/** Adapters of the messaging platforms. */
export const layer = ({ appUrl, platforms }: ChannelsOptions) =>
  Layer.merge(
    Layer.succeed(ChannelSettings, { appUrl }),
    Layer.effect(
      ChannelPlatforms,
      Effect.map(
        Effect.all([
          makeTelegramPlatform(platforms.platformA.apiUrl),
          makeWhatsAppPlatform(platforms.platformB),
          makeDiscordPlatform(platforms.platformC)
        ]),
        (adapters) =>
          new Map<MessagingPlatform, ChannelPlatform>(adapters.map((adapter) => [adapter.platform, adapter]))
      )
    ).pipe(Layer.provide(FetchHttpClient.layer))
  )

export const fromSettings = ({ addresses, platforms }: Settings) => layer({ appUrl: addresses.appUrl, platforms })
