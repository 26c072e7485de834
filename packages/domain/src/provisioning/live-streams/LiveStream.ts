import { DateTime, Duration, Schema } from "effect"
import { AgentId } from "../../shared/AgentId.ts"
import { UserId } from "../../shared/UserId.ts"

/** Unguessable, since it grants access to the playback. */
export const LiveStreamId = Schema.String.pipe(Schema.brand("LiveStreamId"))
export type LiveStreamId = typeof LiveStreamId.Type

export const LiveStreamStatus = Schema.Literal("idle", "active").annotations({ identifier: "LiveStreamStatus" })
export type LiveStreamStatus = typeof LiveStreamStatus.Type

/** An agent's live stream. The times are those of its latest broadcast; uploads apply to the built-in origin only. */
export class LiveStream extends Schema.Class<LiveStream>("LiveStream")({
  id: LiveStreamId,
  agentId: AgentId,
  ownerId: UserId,
  playbackUrl: Schema.String,
  startedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  endedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  lastUploadAt: Schema.NullOr(Schema.DateTimeUtcFromSelf)
}) {}

/** Entries in the agent's log. */
export const broadcastStarted = "Live stream started"
export const broadcastEnded = "Live stream ended"

/** Time without an upload after which a broadcast has ended. */
export const broadcastIdleTimeout = Duration.seconds(30)

/** Returns the status at the built-in origin. */
export const decideLiveStreamStatus = (
  { endedAt, lastUploadAt }: Pick<LiveStream, "endedAt" | "lastUploadAt">,
  now: DateTime.Utc
): LiveStreamStatus =>
  endedAt === null &&
  lastUploadAt !== null &&
  Duration.lessThan(DateTime.distanceDuration(lastUploadAt, now), broadcastIdleTimeout)
    ? "active"
    : "idle"

const mebibyte = 1024 * 1024

export const liveLimits = {
  /** Six seconds at 10 Mbit/s. */
  maximumFileBytes: 8 * mebibyte,
  maximumPlaylistBytes: 256 * 1024,
  /** Maximum concurrent uploads of a stream in a process. */
  uploadsAtOnce: 16,
  /** Maximum uploads of a stream per window. */
  window: Duration.seconds(10),
  uploadsPerWindow: 200,
  /** 8 Mbit/s plus one large file. */
  bytesPerWindow: 18 * mebibyte,
  /** Maximum stored files of a stream; the oldest are deleted. */
  storedBytesPerStream: 128 * mebibyte,
  /** Exceeds the uploads of a stream within the retention. */
  storedFilesPerStream: 4000,
  /** Maximum stored files of all streams. Above it, files beyond the equal share of their owner are deleted. */
  storedBytes: 4096 * mebibyte,
  /**
   * Maximum age: of a file since its upload or its last listing in a playlist; of a playlist since the latest upload of
   * its stream.
   */
  retention: Duration.minutes(2),
  /** Maximum waiting blocking reloads in a process. */
  waitingReloads: 1000,
  /** Playback of one process: 100 Mbit/s of one stream and 800 Mbit/s in total. */
  playbackBytesPerSecond: 12.5e6,
  playbackBytesPerSecondInTotal: 100e6
} as const
