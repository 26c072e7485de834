import { Context, type Effect, type Option, type Redacted } from "effect"
import type { LiveStreamId, LiveStreamStatus } from "./LiveStream.ts"
import type { LiveStreamsUnavailable } from "./LiveStreamErrors.ts"

export interface StreamKey {
  /** Secret of the encoder. */
  readonly streamKey: Redacted.Redacted
  /** Where encoders upload at the built-in origin; none at a provider that receives the stream itself. */
  readonly keyHash: Option.Option<string>
}

export interface CreatedLiveStream extends StreamKey {
  readonly id: LiveStreamId
  /** HLS playlist. */
  readonly playbackUrl: string
}

/** Where live streams are received and played: a provider, or the built-in origin. */
export class LiveStreams extends Context.Tag("@berth/LiveStreams")<
  LiveStreams,
  {
    /** `reference` names the agent to the provider. */
    readonly create: (reference: string) => Effect.Effect<CreatedLiveStream, LiveStreamsUnavailable>
    /** Makes another stream key; a provider refuses the old one at once. None when the stream is gone. */
    readonly rotateKey: (id: LiveStreamId) => Effect.Effect<Option.Option<StreamKey>, LiveStreamsUnavailable>
    /** Deletes the stream at the provider. Idempotent. */
    readonly end: (id: LiveStreamId) => Effect.Effect<void, LiveStreamsUnavailable>
    /** The streams of a provider that are in broadcast; none at the built-in origin, which records uploads. */
    readonly listActive: Effect.Effect<Option.Option<ReadonlySet<LiveStreamId>>, LiveStreamsUnavailable>
    readonly status: (id: LiveStreamId) => Effect.Effect<LiveStreamStatus, LiveStreamsUnavailable>
  }
>() {}
