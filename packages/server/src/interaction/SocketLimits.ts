import { Context, Duration } from "effect"

/** Limits and intervals of WebSockets. */
export class SocketLimits extends Context.Reference<SocketLimits>()("@berth/SocketLimits", {
  defaultValue: () => ({
    /** Maximum sockets of a user in this process. */
    perUser: 64,
    /** Maximum concurrent answers of a socket. */
    answers: 64,
    /** Maximum buffered frames of a client. */
    framesAhead: 64,
    /** Maximum unsent bytes of a socket. */
    bufferedBytes: 1024 * 1024,
    /** Ping interval; a client without a response within one interval is disconnected. */
    heartbeat: Duration.seconds(30),
    /** Intervals without progress after which a client that does not read is disconnected. */
    stalledBeats: 2,
    /** Interval at which statuses are read. */
    pollInterval: Duration.seconds(1),
    /** Time for a client to answer a close frame. */
    closeTimeout: Duration.seconds(5)
  })
}) {}
