import { Context, Duration } from "effect"

/** How much a socket may ask of this process, and how long it takes to notice things. */
export class SocketLimits extends Context.Reference<SocketLimits>()("@berth/SocketLimits", {
  defaultValue: () => ({
    /** Sockets of one user in this process. */
    perUser: 64,
    /** Answers that a socket follows at a time. */
    answers: 64,
    /** Frames of a client that wait to be worked on. */
    framesAhead: 64,
    /** Bytes that wait for the client to read them. */
    bufferedBytes: 1024 * 1024,
    /** A client is asked this often whether it is there; one that says nothing until the next time is not. */
    heartbeat: Duration.seconds(30),
    /** How often the rows behind all sockets are looked at: statuses, sessions, tokens. */
    pollInterval: Duration.seconds(1),
    /** How long a client has to answer a close. */
    closeTimeout: Duration.seconds(5)
  })
}) {}
