import { DateTime, Duration, Effect, Option, type Redacted } from "effect"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Digests, hashSecret } from "../secrets/Digests.ts"
import { Tokens } from "../secrets/Tokens.ts"
import { Caller } from "./Caller.ts"
import { parseClientNetwork } from "./ClientNetwork.ts"
import { maximumUserAgentLength, type Session, SessionId, sessionLifetime, sessionRenewal } from "./Session.ts"
import { AuthenticationRequired, SignInSessionNotFound } from "./SessionErrors.ts"
import { SessionRepository } from "./SessionRepository.ts"
import type { UserId } from "../shared/UserId.ts"

/** Server-side sign-in sessions: the client holds a random token, the server its hash. */
export class Sessions extends Effect.Service<Sessions>()("@berth/Sessions", {
  effect: Effect.gen(function* () {
    const repository = yield* SessionRepository
    const tokens = yield* Tokens
    const digests = yield* Digests
    const ids = yield* IdGenerator

    /** A new session and its token, which is told this once. */
    const open = Effect.fn("Sessions.open")(function* (userId: UserId, lifetime: Duration.Duration = sessionLifetime) {
      const now = yield* DateTime.now
      const token = yield* tokens.make
      const { address, userAgent } = yield* Caller
      const session: Session = {
        id: SessionId.make(yield* ids.next("ses")),
        userId,
        createdAt: now,
        lastSeenAt: now,
        expiresAt: DateTime.addDuration(now, lifetime),
        userAgent: Option.getOrNull(
          Option.map(userAgent, (text) => [...text].slice(0, maximumUserAgentLength).join(""))
        ),
        address: Option.getOrNull(Option.flatMap(address, parseClientNetwork))
      }
      yield* repository.insert(session, hashSecret(digests, token))
      return { token, session }
    })

    /** The user behind a token; the session's expiry slides with its use. */
    const authenticate = Effect.fn("Sessions.authenticate")(function* (token: Redacted.Redacted) {
      const now = yield* DateTime.now
      const found = yield* repository.findByTokenHash(hashSecret(digests, token), now)
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
    const findActiveIds = Effect.fn("Sessions.findActiveIds")(function* (ids: ReadonlyArray<SessionId>) {
      return yield* repository.findActiveIds(ids, yield* DateTime.now)
    })

    const revokeByToken = Effect.fn("Sessions.revokeByToken")(function* (token: Redacted.Redacted) {
      yield* repository.removeByTokenHash(hashSecret(digests, token))
    })

    /** Ends the session, wherever it is in use. */
    const revokeById = Effect.fn("Sessions.revokeById")(function* (id: SessionId) {
      yield* repository.remove(id)
    })

    /** From now on the session lives for so long; none when it has ended. */
    const extend = Effect.fn("Sessions.extend")(function* (id: SessionId, lifetime: Duration.Duration) {
      const expiresAt = DateTime.addDuration(yield* DateTime.now, lifetime)
      return (yield* repository.extend(id, expiresAt)) ? Option.some(expiresAt) : Option.none()
    })

    /**
     * Fails when the session has ended since it was shown, and else keeps it until the running transaction ends. For what
     * adds a way into the account, last in its transaction: who shuts all ways in looks at the sessions first.
     */
    const lock = Effect.fn("Sessions.lock")(function* (id: SessionId) {
      if (!(yield* repository.lock(id, yield* DateTime.now))) return yield* new AuthenticationRequired()
    })

    /** Ends every session of the user but this one. */
    const revokeOthers = Effect.fn("Sessions.revokeOthers")(function* (userId: UserId, kept: SessionId) {
      yield* repository.removeByUser(userId, kept)
    })

    /** Ends every session of the user; answers how many there were. */
    const revokeAll = Effect.fn("Sessions.revokeAll")(function* (userId: UserId) {
      return yield* repository.removeByUser(userId)
    })

    /** Where the user is signed in, the newest sign-in first. */
    const listByUser = Effect.fn("Sessions.listByUser")(function* (userId: UserId) {
      return yield* repository.listByUser(userId, yield* DateTime.now)
    })

    /** Ends one session of the user's, wherever it is in use: the next request that shows it is nobody's. */
    const revokeOwned = Effect.fn("Sessions.revokeOwned")(function* (userId: UserId, id: SessionId) {
      if (!(yield* repository.removeOwned(userId, id))) return yield* new SignInSessionNotFound()
      yield* Effect.logInfo("A session was revoked").pipe(Effect.annotateLogs({ userId, sessionId: id }))
    })

    return {
      open,
      authenticate,
      find,
      findActiveIds,
      revokeByToken,
      revokeOthers,
      revokeAll,
      listByUser,
      revokeOwned,
      revokeById,
      extend,
      lock
    }
  })
}) {}

/** Whether the session was last renewed longer ago than the renewal interval. */
export const isDueForRenewal = (session: Session, now: DateTime.Utc): boolean =>
  Duration.greaterThan(
    Duration.subtract(sessionLifetime, DateTime.distanceDuration(session.expiresAt, now)),
    sessionRenewal
  )
