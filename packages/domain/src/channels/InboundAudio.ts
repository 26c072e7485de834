import { Context, type Effect } from "effect"
import type { InboundMessage } from "./ChannelMessage.ts"
import type { OpenChannel } from "./ChatReplies.ts"

/** Turns voice messages into text. */
export class InboundAudio extends Context.Tag("@berth/InboundAudio")<
  InboundAudio,
  {
    /** Transcripts by the ids of files; files without one are absent. */
    readonly transcribe: (channel: OpenChannel, message: InboundMessage) => Effect.Effect<ReadonlyMap<string, string>>
  }
>() {}
