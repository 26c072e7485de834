import { Context, type Effect, type Option, type Redacted } from "effect"
import type { LiveStreamId, LiveStreamStatus } from "./LiveStream.ts"
import type { LiveStreamsUnavailable } from "./LiveStreamErrors.ts"

interface StreamKey {
  /** Secret for the encoder. */
  readonly streamKey: Redacted.Redacted
  /** Hash of the key for uploads to the built-in origin; none at a provider that receives the stream. */
  readonly keyHash: Option.Option<string>
}

export interface CreatedLiveStream extends StreamKey {
  readonly id: LiveStreamId
  /** URL of the HLS playlist. */
  readonly playbackUrl: string
}

/** Receives and plays live streams: a provider, or the built-in origin. */
export class LiveStreams extends Context.Tag("@berth/LiveStreams")<
  LiveStreams,
  {
    /** `reference` identifies the agent at the provider. */
    readonly create: (reference: string) => Effect.Effect<CreatedLiveStream, LiveStreamsUnavailable>
    /** Creates another stream key; a provider rejects the old key at once. None for an unknown stream. */
    readonly rotateKey: (id: LiveStreamId) => Effect.Effect<Option.Option<StreamKey>, LiveStreamsUnavailable>
    /** Deletes the stream at the provider. Idempotent. */
    readonly end: (id: LiveStreamId) => Effect.Effect<void, LiveStreamsUnavailable>
    /** Streams of a provider in broadcast; none at the built-in origin, which records uploads. */
    readonly listActive: Effect.Effect<Option.Option<ReadonlySet<LiveStreamId>>, LiveStreamsUnavailable>
    readonly status: (id: LiveStreamId) => Effect.Effect<LiveStreamStatus, LiveStreamsUnavailable>
  }
>() {}
