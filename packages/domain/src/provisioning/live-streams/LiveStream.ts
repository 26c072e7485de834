import { DateTime, Duration, Schema } from "effect"
import { AgentId } from "../../shared/AgentId.ts"
import { UserId } from "../../shared/UserId.ts"

/** Unguessable: it grants access to the playback. */
export const LiveStreamId = Schema.String.pipe(Schema.brand("LiveStreamId"))
export type LiveStreamId = typeof LiveStreamId.Type

export const LiveStreamStatus = Schema.Literal("idle", "active").annotations({ identifier: "LiveStreamStatus" })
export type LiveStreamStatus = typeof LiveStreamStatus.Type

/** An agent's live stream. The times are those of its latest broadcast; uploads are of the built-in origin. */
export class LiveStream extends Schema.Class<LiveStream>("LiveStream")({
  id: LiveStreamId,
  agentId: AgentId,
  ownerId: UserId,
  playbackUrl: Schema.String,
  startedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  endedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  lastUploadAt: Schema.NullOr(Schema.DateTimeUtcFromSelf)
}) {}

/** Entries in the log of the agent. */
export const broadcastStarted = "Live stream started"
export const broadcastEnded = "Live stream ended"

/** A broadcast without an upload for this long has ended. */
export const broadcastIdleTimeout = Duration.seconds(30)

/** The status at the built-in origin. */
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

/** Bounds of the built-in origin. */
export const liveLimits = {
  /** Six seconds at 10 Mbit/s. */
  maximumFileBytes: 8 * mebibyte,
  maximumPlaylistBytes: 256 * 1024,
  /** Uploads of one stream at once, in one process. */
  uploadsAtOnce: 16,
  /** Uploads of one stream per window. */
  window: Duration.seconds(10),
  uploadsPerWindow: 200,
  /** 8 Mbit/s, and one large file. */
  bytesPerWindow: 18 * mebibyte,
  /** Stored files of one stream; the oldest ones give way. */
  storedBytesPerStream: 128 * mebibyte,
  /** More than a stream may upload within the retention. */
  storedFilesPerStream: 4000,
  /** Stored files of all streams; above it, those beyond the equal share of their owner give way. */
  storedBytes: 4096 * mebibyte,
  /** Age of a file since it was uploaded or listed in a playlist, and of a playlist since the latest upload of its stream. */
  retention: Duration.minutes(2),
  /** Blocking reloads that wait in one process. */
  waitingReloads: 1000,
  /** Playback of one process: 100 Mbit/s of one stream and 800 Mbit/s in total. */
  playbackBytesPerSecond: 12.5e6,
  playbackBytesPerSecondInTotal: 100e6
} as const
