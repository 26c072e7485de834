import { Duration, Schema } from "effect"
import { idSchema } from "../ids/IdGenerator.ts"
import { UserId } from "../shared/UserId.ts"

export const SessionId = idSchema("SessionId", "A sign-in session's id, ses_…")
export type SessionId = typeof SessionId.Type

/** A signed-in browser or client. The token itself is never stored, only its hash. */
export const Session = Schema.Struct({
  id: SessionId,
  userId: UserId,
  createdAt: Schema.DateTimeUtcFromSelf,
  /** To within `sessionRenewal`. */
  lastSeenAt: Schema.DateTimeUtcFromSelf,
  expiresAt: Schema.DateTimeUtcFromSelf,
  /** What the client called itself at the sign-in, at most `maximumUserAgent` characters of it. */
  userAgent: Schema.NullOr(Schema.String),
  /** The network that the sign-in came from: IPv4 by /24, IPv6 by /64. */
  address: Schema.NullOr(Schema.String)
})
export type Session = typeof Session.Type

/** A user has so many sessions at once; a further sign-in ends the oldest. */
export const maximumSessionsPerUser = 100

/** How long a session lives after its last use. */
export const sessionLifetime = Duration.days(30)
/** The expiry slides at most this often, so that reads do not each cost a write. */
export const sessionRenewal = Duration.minutes(5)

export const maximumUserAgentLength = 256
