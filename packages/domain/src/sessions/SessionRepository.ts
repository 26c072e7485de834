import { Context, type DateTime, type Effect, type Option } from "effect"
import type { User, UserId } from "../accounts/User.ts"
import type { Session, SessionId } from "./Session.ts"

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
    readonly stillOpen: (ids: ReadonlyArray<SessionId>, now: DateTime.Utc) => Effect.Effect<ReadonlySet<SessionId>>
    readonly renew: (id: SessionId, expiresAt: DateTime.Utc) => Effect.Effect<void>
    /** False when there is no such session any more. */
    readonly extend: (id: SessionId, expiresAt: DateTime.Utc) => Effect.Effect<boolean>
    /** Whether the session is there and unexpired; if it is, nobody ends it until the running transaction does. */
    readonly hold: (id: SessionId, now: DateTime.Utc) => Effect.Effect<boolean>
    readonly remove: (id: SessionId) => Effect.Effect<void>
    readonly removeByTokenHash: (tokenHash: string) => Effect.Effect<void>
    readonly removeAllOf: (userId: UserId, except?: SessionId) => Effect.Effect<void>
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
