import { Context, type DateTime, type Effect, type Option } from "effect"
import type { User } from "../shared/User.ts"
import type { Session, SessionId } from "./Session.ts"
import type { UserId } from "../shared/UserId.ts"

export class SessionRepository extends Context.Tag("@berth/SessionRepository")<
  SessionRepository,
  {
    /** Removes the oldest sessions above `maximumSessionsPerUser`. False, without effect, for a suspended account. */
    readonly insert: (session: Session, tokenHash: string) => Effect.Effect<boolean>
    /** Returns an unexpired session with its user unless suspended; one query. */
    readonly findByTokenHash: (
      tokenHash: string,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<{ readonly session: Session; readonly user: User }>>
    /** Returns an unexpired session with its user unless suspended; one query. */
    readonly find: (
      id: SessionId,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<{ readonly session: Session; readonly user: User }>>
    readonly findActiveIds: (ids: ReadonlyArray<SessionId>, now: DateTime.Utc) => Effect.Effect<ReadonlySet<SessionId>>
    /** Unexpired, newest first. */
    readonly listByUser: (userId: UserId, now: DateTime.Utc) => Effect.Effect<ReadonlyArray<Session>>
    readonly renew: (
      id: SessionId,
      times: { readonly lastSeenAt: DateTime.Utc; readonly expiresAt: DateTime.Utc }
    ) => Effect.Effect<void>
    readonly setAuthenticatedAt: (id: SessionId, at: DateTime.Utc) => Effect.Effect<void>
    /** False if the session does not exist. */
    readonly extend: (id: SessionId, expiresAt: DateTime.Utc) => Effect.Effect<boolean>
    /** Locks an unexpired session against removal until the transaction ends; false if there is none. */
    readonly lock: (id: SessionId, now: DateTime.Utc) => Effect.Effect<boolean>
    readonly remove: (id: SessionId) => Effect.Effect<void>
    /** False if the user has no such session. */
    readonly removeOwned: (userId: UserId, id: SessionId) => Effect.Effect<boolean>
    readonly removeByTokenHash: (tokenHash: string) => Effect.Effect<void>
    /** Returns the number of removed sessions. */
    readonly removeByUser: (userId: UserId, except?: SessionId) => Effect.Effect<number>
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
