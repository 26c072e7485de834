import { Context, Duration } from "effect"

/** Limits and intervals of WebSockets. */
export class SocketLimits extends Context.Reference<SocketLimits>()("@berth/SocketLimits", {
  defaultValue: () => ({
    /** Sockets of one user in this process. */
    perUser: 64,
    /** Answers of a socket at a time. */
    answers: 64,
    /** Buffered frames of a client. */
    framesAhead: 64,
    /** Unsent bytes of a socket. */
    bufferedBytes: 1024 * 1024,
    /** Ping interval; a client that is silent for one interval is disconnected. */
    heartbeat: Duration.seconds(30),
    /** Intervals in which a client reads nothing of what is sent to it before it is disconnected. */
    stalledBeats: 2,
    /** Interval at which statuses are read. */
    pollInterval: Duration.seconds(1),
    /** Time for a client to answer a close. */
    closeTimeout: Duration.seconds(5)
  })
}) {}
