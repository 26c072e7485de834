import { type ChannelPlatform, ChannelPlatforms } from "@berth/domain/channels/ChannelPlatform"
import { ChannelSettings } from "@berth/domain/channels/ChannelSettings"
import type { MessagingPlatform } from "@berth/domain/shared/Channel"
import { Layer } from "effect"
import type { Settings } from "../configuration/Settings.ts"

export interface ChannelsOptions {
  readonly appUrl: URL
}

/** The adapters of the messaging platforms. */
export const layer = ({ appUrl }: ChannelsOptions) =>
  Layer.merge(
    Layer.succeed(ChannelSettings, { appUrl }),
    Layer.succeed(ChannelPlatforms, new Map<MessagingPlatform, ChannelPlatform>())
  )

export const fromSettings = ({ addresses }: Settings) => layer({ appUrl: addresses.appUrl })
