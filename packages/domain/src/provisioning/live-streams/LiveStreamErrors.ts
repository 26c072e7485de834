import { Data, type Duration } from "effect"

/** Includes a wrong stream key, so that responses never reveal which keys or streams exist. */
export class LiveStreamNotFound extends Data.TaggedError("LiveStreamNotFound")<object> {}
export class LiveFileNameInvalid extends Data.TaggedError("LiveFileNameInvalid")<object> {}
export class LivePlaylistInvalid extends Data.TaggedError("LivePlaylistInvalid")<{ readonly reason: string }> {}
/** A blocking reload requests a segment too far ahead, or its directives are malformed. */
export class LiveReloadInvalid extends Data.TaggedError("LiveReloadInvalid")<{ readonly reason: string }> {}
/** The byte range begins after the end of the file. */
export class LiveRangeUnsatisfiable extends Data.TaggedError("LiveRangeUnsatisfiable")<{ readonly length: number }> {}
/** The awaited segment did not arrive in time. */
export class LiveReloadTimedOut extends Data.TaggedError("LiveReloadTimedOut")<object> {}
export class LiveLimitReached extends Data.TaggedError("LiveLimitReached")<{
  readonly limit: "uploads" | "bandwidth" | "playback" | "reloads"
  readonly retryAfter: Duration.Duration
}> {}
/** The provider of live streams is unavailable or rejects the request. */
export class LiveStreamsUnavailable extends Data.TaggedError("LiveStreamsUnavailable")<{ readonly reason: string }> {}
