import { Context, type DateTime, type Effect, type Option } from "effect"
import type { SessionId } from "../../sessions/Session.ts"

/** Tokens of sessions without a cookie. The tokens of a session form a family: each is exchanged for its successor. */
export class SocialSessionRepository extends Context.Tag("@berth/SocialSessionRepository")<
  SocialSessionRepository,
  {
    readonly insert: (token: {
      readonly tokenHash: string
      readonly sessionId: SessionId
      readonly expiresAt: DateTime.Utc
    }) => Effect.Effect<void>
    /** Returns the session of an unexpired token that is not yet exchanged. */
    readonly find: (tokenHash: string, now: DateTime.Utc) => Effect.Effect<Option.Option<SessionId>>
    /** Marks an unexpired token as exchanged; `isFirst` for exactly one of concurrent callers. Requires a transaction. */
    readonly exchange: (
      tokenHash: string,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<{ readonly sessionId: SessionId; readonly isFirst: boolean }>>
  }
>() {}
