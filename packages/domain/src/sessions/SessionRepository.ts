import { Context, type DateTime, type Effect, type Option } from "effect"
import type { User } from "../shared/User.ts"
import type { Session, SessionId } from "./Session.ts"
import type { UserId } from "../shared/UserId.ts"

export class SessionRepository extends Context.Tag("@berth/SessionRepository")<
  SessionRepository,
  {
    /** Of the user's sessions only the newest `maximumSessions` are left. */
    readonly insert: (session: Session, tokenHash: string) => Effect.Effect<void>
    /** The unexpired session of a token with its user, in one read. */
    readonly findByTokenHash: (
      tokenHash: string,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<{ readonly session: Session; readonly user: User }>>
    /** The unexpired session with its user, in one read. */
    readonly find: (
      id: SessionId,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<{ readonly session: Session; readonly user: User }>>
    /** Those of the sessions that have not ended. */
    readonly findActiveIds: (ids: ReadonlyArray<SessionId>, now: DateTime.Utc) => Effect.Effect<ReadonlySet<SessionId>>
    /** The user's unexpired sessions, the newest first. */
    readonly listByUser: (userId: UserId, now: DateTime.Utc) => Effect.Effect<ReadonlyArray<Session>>
    readonly renew: (
      id: SessionId,
      times: { readonly lastSeenAt: DateTime.Utc; readonly expiresAt: DateTime.Utc }
    ) => Effect.Effect<void>
    /** False when there is no such session any more. */
    readonly extend: (id: SessionId, expiresAt: DateTime.Utc) => Effect.Effect<boolean>
    /** Whether the session is there and unexpired; if it is, nobody ends it until the running transaction does. */
    readonly lock: (id: SessionId, now: DateTime.Utc) => Effect.Effect<boolean>
    readonly remove: (id: SessionId) => Effect.Effect<void>
    /** Removes the session if it is the user's; false when it is not, or is none. */
    readonly removeOwned: (userId: UserId, id: SessionId) => Effect.Effect<boolean>
    readonly removeByTokenHash: (tokenHash: string) => Effect.Effect<void>
    /** Answers how many there were. */
    readonly removeByUser: (userId: UserId, except?: SessionId) => Effect.Effect<number>
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
