import { Layer } from "effect"
import { ChannelChecks } from "./ChannelChecks.ts"
import { ChannelConfiguration } from "./ChannelConfiguration.ts"
import { ChannelInbox } from "./ChannelInbox.ts"
import { Channels } from "./Channels.ts"
import { ChatAnswers } from "./ChatAnswers.ts"
import { ChatReplies } from "./ChatReplies.ts"

/** Services for the public listener. */
export const layer = Layer.mergeAll(ChannelConfiguration.Default, ChannelInbox.Default).pipe(
  Layer.provideMerge(Channels.Default)
)

/** Services for the worker. */
export const channelJobs = Layer.merge(ChatAnswers.Default, ChannelInbox.Default).pipe(
  Layer.provide(ChatReplies.Default),
  Layer.provideMerge(ChannelChecks.Default)
)
