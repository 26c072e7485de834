import { Context, type DateTime, type Effect, type Option } from "effect"
import type { SessionId } from "../../sessions/Session.ts"

/** The tokens of sessions that are held without a cookie. Those of one session are a family: each but the last was exchanged for the next. */
export class SocialSessionRepository extends Context.Tag("@berth/SocialSessionRepository")<
  SocialSessionRepository,
  {
    readonly insert: (token: {
      readonly tokenHash: string
      readonly sessionId: SessionId
      readonly expiresAt: DateTime.Utc
    }) => Effect.Effect<void>
    /** The session of a token that has neither expired nor been exchanged. */
    readonly find: (tokenHash: string, now: DateTime.Utc) => Effect.Effect<Option.Option<SessionId>>
    /**
     * Marks an unexpired token as exchanged. Of any number at once one is told `isFirst`; whoever comes later is told whose
     * session it was. To be called in a transaction.
     */
    readonly exchange: (
      tokenHash: string,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<{ readonly sessionId: SessionId; readonly isFirst: boolean }>>
  }
>() {}
