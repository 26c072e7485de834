import {
  LiveFileNameInvalid,
  LiveLimitReached,
  LivePlaylistInvalid,
  LiveRangeUnsatisfiable,
  LiveReloadInvalid,
  LiveReloadTimedOut,
  LiveStreamNotFound,
  LiveStreamsUnavailable
} from "@berth/domain/provisioning/live-streams/LiveStreamErrors"
import { Duration, Schema } from "effect"
import { errorBody, extendedErrorBody, plainErrorBody, fieldsErrorBody } from "../../http/ErrorBody.ts"
import { toRetryAfterSeconds } from "../../limits/RateLimits.ts"

export const LiveStreamNotFoundBody = plainErrorBody(LiveStreamNotFound, {
  status: 404,
  error: "Live stream not found",
  message: "There is no live stream with this key or id, or no such file in it."
})
export const LiveFileNameInvalidBody = plainErrorBody(LiveFileNameInvalid, {
  status: 400,
  error: "Invalid file name",
  message:
    "file: must have 1 to 100 letters, digits, dots, dashes and underscores, and end in .m3u8, .ts, .m4s, .mp4, .aac or .vtt."
})
const playlistPrefix = "The playlist is invalid: "
export const LivePlaylistInvalidBody = errorBody(LivePlaylistInvalid, {
  status: 400,
  error: "Invalid playlist",
  message: ({ reason }) => `${playlistPrefix}${reason}.`,
  example: new LivePlaylistInvalid({ reason: "it does not begin with #EXTM3U" }),
  read: (message) => new LivePlaylistInvalid({ reason: message.slice(playlistPrefix.length, -1) })
})
const reloadPrefix = "The reload cannot be served: "
export const LiveReloadInvalidBody = errorBody(LiveReloadInvalid, {
  status: 400,
  error: "Invalid reload",
  message: ({ reason }) => `${reloadPrefix}${reason}.`,
  example: new LiveReloadInvalid({ reason: "_HLS_msn must be a whole number" }),
  read: (message) => new LiveReloadInvalid({ reason: message.slice(reloadPrefix.length, -1) })
})
export const LiveRangeUnsatisfiableBody = fieldsErrorBody(LiveRangeUnsatisfiable, {
  status: 416,
  error: "Range not satisfiable",
  message: ({ length }) => `Range: must begin before the end of the file, which has ${length} bytes.`,
  members: Schema.Struct({ length: Schema.Number.annotations({ description: "Bytes of the file" }) }),
  example: { length: 1024 }
})
export const LiveReloadTimedOutBody = plainErrorBody(LiveReloadTimedOut, {
  status: 503,
  error: "Segment not available",
  message: "The awaited segment did not arrive in time. Load the playlist without _HLS_msn."
})

const RetryAfter = Schema.Number.annotations({ description: "Seconds" })

export const LiveLimitReachedBody = extendedErrorBody(
  LiveLimitReached,
  Schema.Struct({ limit: Schema.Literal("uploads", "bandwidth", "playback", "reloads"), retryAfter: RetryAfter }),
  {
    status: 429,
    error: "Live stream limit reached",
    message: ({ limit, retryAfter }) =>
      `The limit of ${limit} of this live stream is reached. Try again in ${toRetryAfterSeconds(retryAfter)} seconds.`,
    members: ({ limit, retryAfter }) => ({ limit, retryAfter: toRetryAfterSeconds(retryAfter) }),
    example: new LiveLimitReached({ limit: "playback", retryAfter: Duration.seconds(5) }),
    read: (_, { limit, retryAfter }) => new LiveLimitReached({ limit, retryAfter: Duration.seconds(retryAfter) })
  }
)
export const LiveStreamsUnavailableBody = errorBody(LiveStreamsUnavailable, {
  status: 502,
  error: "Live streams unavailable",
  message: "The provider of live streams did not respond. Try again in a moment.",
  read: (message) => new LiveStreamsUnavailable({ reason: message })
})
