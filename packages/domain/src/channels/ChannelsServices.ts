import { Layer } from "effect"
import { ChannelConfiguration } from "./ChannelConfiguration.ts"
import { ChannelInbox } from "./ChannelInbox.ts"
import { Channels } from "./Channels.ts"

/** Services of the public listener. */
export const layer = Layer.mergeAll(ChannelConfiguration.Default, ChannelInbox.Default).pipe(
  Layer.provideMerge(Channels.Default)
)
