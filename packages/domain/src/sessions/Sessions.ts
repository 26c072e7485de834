import { DateTime, Duration, Effect, Option, type Redacted } from "effect"
import type { UserId } from "../accounts/User.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Tokens } from "../secrets/Tokens.ts"
import { Caller } from "./Caller.ts"
import { networkOf } from "./ClientNetwork.ts"
import { maximumUserAgent, type Session, SessionId, sessionLifetime, sessionRenewal } from "./Session.ts"
import { SignInSessionIsUnknown } from "./SessionErrors.ts"
import { SessionRepository } from "./SessionRepository.ts"

/** Server-side sign-in sessions: the client holds a random token, the server its hash. */
export class Sessions extends Effect.Service<Sessions>()("@berth/Sessions", {
  effect: Effect.gen(function* () {
    const repository = yield* SessionRepository
    const tokens = yield* Tokens
    const ids = yield* IdGenerator

    /** A new session and its token, which is told this once. */
    const open = Effect.fn("Sessions.open")(function* (userId: UserId) {
      const now = yield* DateTime.now
      const token = yield* tokens.make
      const { address, userAgent } = yield* Caller
      const session: Session = {
        id: SessionId.make(yield* ids.next("ses")),
        userId,
        createdAt: now,
        lastSeenAt: now,
        expiresAt: DateTime.addDuration(now, sessionLifetime),
        userAgent: Option.getOrNull(Option.map(userAgent, (text) => [...text].slice(0, maximumUserAgent).join(""))),
        address: Option.getOrNull(Option.flatMap(address, networkOf))
      }
      yield* repository.insert(session, tokens.hash(token))
      return { token, session }
    })

    /** The user behind a token; the session's expiry slides with its use. */
    const authenticate = Effect.fn("Sessions.authenticate")(function* (token: Redacted.Redacted) {
      const now = yield* DateTime.now
      const found = yield* repository.findByTokenHash(tokens.hash(token), now)
      if (Option.isSome(found) && isDueForRenewal(found.value.session, now))
        yield* repository.renew(found.value.session.id, {
          lastSeenAt: now,
          expiresAt: DateTime.addDuration(now, sessionLifetime)
        })
      return found
    })

    /** The session, if it still stands, with its user. Its expiry stays as it is. */
    const find = Effect.fn("Sessions.find")(function* (id: SessionId) {
      return yield* repository.find(id, yield* DateTime.now)
    })

    /** Those of the sessions that have not ended; asking is no use of them. */
    const stillOpen = Effect.fn("Sessions.stillOpen")(function* (ids: ReadonlyArray<SessionId>) {
      return yield* repository.stillOpen(ids, yield* DateTime.now)
    })

    const close = Effect.fn("Sessions.close")(function* (token: Redacted.Redacted) {
      yield* repository.removeByTokenHash(tokens.hash(token))
    })

    /** Ends every session of the user but this one. */
    const closeOthers = Effect.fn("Sessions.closeOthers")(function* (userId: UserId, kept: SessionId) {
      yield* repository.removeAllOf(userId, kept)
    })

    /** Ends every session of the user; answers how many there were. */
    const closeAll = Effect.fn("Sessions.closeAll")(function* (userId: UserId) {
      return yield* repository.removeAllOf(userId)
    })

    /** Where the user is signed in, the newest sign-in first. */
    const list = Effect.fn("Sessions.list")(function* (userId: UserId) {
      return yield* repository.listOf(userId, yield* DateTime.now)
    })

    /** Ends one session of the user's, wherever it is in use: the next request that shows it is nobody's. */
    const revoke = Effect.fn("Sessions.revoke")(function* (userId: UserId, id: SessionId) {
      if (!(yield* repository.removeOwned(userId, id))) return yield* new SignInSessionIsUnknown()
      yield* Effect.logInfo("A session was revoked").pipe(Effect.annotateLogs({ userId, sessionId: id }))
    })

    return { open, authenticate, find, stillOpen, close, closeOthers, closeAll, list, revoke }
  })
}) {}

/** Whether the session was last renewed longer ago than the renewal interval. */
export const isDueForRenewal = (session: Session, now: DateTime.Utc): boolean =>
  Duration.greaterThan(
    Duration.subtract(sessionLifetime, DateTime.distanceDuration(session.expiresAt, now)),
    sessionRenewal
  )
