import { Duration, Schema } from "effect"
import { idSchema } from "../ids/IdGenerator.ts"
import { UserId } from "../shared/UserId.ts"

export const SessionId = idSchema("SessionId", "A sign-in session's id, ses_…")
export type SessionId = typeof SessionId.Type

/** Only the hash of the token is stored. */
export const Session = Schema.Struct({
  id: SessionId,
  userId: UserId,
  createdAt: Schema.DateTimeUtcFromSelf,
  /** Time of the sign-in, or of the last password check within the session. */
  authenticatedAt: Schema.DateTimeUtcFromSelf,
  /** Precise to `sessionRenewal`. */
  lastSeenAt: Schema.DateTimeUtcFromSelf,
  expiresAt: Schema.DateTimeUtcFromSelf,
  /** User agent at the sign-in, at most `maximumUserAgentLength` characters. */
  userAgent: Schema.NullOr(Schema.String),
  /** Network of the client at the sign-in. */
  address: Schema.NullOr(Schema.String)
})
export type Session = typeof Session.Type

/** Maximum sessions of a user; a further sign-in ends the oldest. */
export const maximumSessionsPerUser = 100

/** Time from the last use to the expiry. */
export const sessionLifetime = Duration.days(30)
/** Minimum interval between two renewals, so that not every read costs a write. */
export const sessionRenewal = Duration.minutes(5)

export const maximumUserAgentLength = 256
