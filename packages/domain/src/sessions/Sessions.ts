import { DateTime, Duration, Effect, Option, type Redacted } from "effect"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Digests, hashSecret } from "../secrets/Digests.ts"
import { currentTime } from "../shared/HotPath.ts"
import { withExportedSpan } from "../shared/SpanExport.ts"
import { Tokens } from "../secrets/Tokens.ts"
import { Caller } from "./Caller.ts"
import { maximumUserAgentLength, type Session, SessionId, sessionLifetime, sessionRenewal } from "./Session.ts"
import { requireRecentSignIn } from "./RecentSignIn.ts"
import { AccountSuspended, AuthenticationRequired, SignInSessionNotFound } from "./SessionErrors.ts"
import { SessionRepository } from "./SessionRepository.ts"
import type { UserId } from "../shared/UserId.ts"
import { parseClientNetwork } from "./ClientNetwork.ts"

/** Server-side sign-in sessions: the client holds a random token, the server its hash. */
export class Sessions extends Effect.Service<Sessions>()("@berth/Sessions", {
  effect: Effect.gen(function* () {
    const repository = yield* SessionRepository
    const tokens = yield* Tokens
    const digests = yield* Digests
    const ids = yield* IdGenerator

    /** Returns the token, which is not stored. */
    const open = Effect.fn("Sessions.open")(function* (userId: UserId, lifetime: Duration.Duration = sessionLifetime) {
      const now = yield* DateTime.now
      const token = yield* tokens.make
      const { address, userAgent } = yield* Caller
      const session: Session = {
        id: SessionId.make(yield* ids.next("ses")),
        userId,
        createdAt: now,
        authenticatedAt: now,
        lastSeenAt: now,
        expiresAt: DateTime.addDuration(now, lifetime),
        userAgent: Option.getOrNull(
          Option.map(userAgent, (text) => [...text].slice(0, maximumUserAgentLength).join(""))
        ),
        address: Option.getOrNull(Option.flatMap(address, parseClientNetwork))
      }
      if (!(yield* repository.insert(session, hashSecret(digests, token)))) return yield* new AccountSuspended()
      return { token, session }
    })

    /** Returns session and user of a token; extends the expiry, then runs `onRenewed`. */
    const authenticate = Effect.fnUntraced(function* (
      token: Redacted.Redacted,
      onRenewed: (id: SessionId) => Effect.Effect<void> = () => Effect.void
    ) {
      const now = yield* currentTime
      const stored = yield* repository.findByTokenHash(hashSecret(digests, token), now)
      if (Option.isSome(stored) && isDueForRenewal(stored.value.session, now)) {
        const { id } = stored.value.session
        yield* repository.renew(id, { lastSeenAt: now, expiresAt: DateTime.addDuration(now, sessionLifetime) })
        yield* onRenewed(id)
      }
      return stored
    }, withExportedSpan("Sessions.authenticate"))

    /** Returns an active session with its user; does not extend the expiry. */
    const find = Effect.fn("Sessions.find")(function* (id: SessionId) {
      return yield* repository.find(id, yield* DateTime.now)
    })

    /** Does not extend the expiry. */
    const findActiveIds = Effect.fn("Sessions.findActiveIds")(function* (ids: ReadonlyArray<SessionId>) {
      return yield* repository.findActiveIds(ids, yield* DateTime.now)
    })

    /** Fails unless the sign-in or the last password check of the session is recent. */
    const requireRecent = Effect.fn("Sessions.requireRecent")(function* (id: SessionId) {
      const now = yield* DateTime.now
      const { session } = yield* Effect.mapError(yield* repository.find(id, now), () => new AuthenticationRequired())
      yield* requireRecentSignIn(session, now)
    })

    /** Records a password check, which counts like a sign-in. */
    const recordPasswordCheck = Effect.fn("Sessions.recordPasswordCheck")(function* (id: SessionId) {
      yield* repository.setAuthenticatedAt(id, yield* DateTime.now)
    })

    const revokeByToken = Effect.fn("Sessions.revokeByToken")(function* (token: Redacted.Redacted) {
      yield* repository.removeByTokenHash(hashSecret(digests, token))
    })

    const revokeById = Effect.fn("Sessions.revokeById")(function* (id: SessionId) {
      yield* repository.remove(id)
    })

    /** Sets the expiry and returns it; none if the session has ended. */
    const extend = Effect.fn("Sessions.extend")(function* (id: SessionId, lifetime: Duration.Duration) {
      const expiresAt = DateTime.addDuration(yield* DateTime.now, lifetime)
      return (yield* repository.extend(id, expiresAt)) ? Option.some(expiresAt) : Option.none()
    })

    /**
     * Fails if the session has ended; otherwise locks it until the transaction ends. Lock order: last in a transaction
     * that adds an access method.
     */
    const lock = Effect.fn("Sessions.lock")(function* (id: SessionId) {
      if (!(yield* repository.lock(id, yield* DateTime.now))) return yield* new AuthenticationRequired()
    })

    const revokeOthers = Effect.fn("Sessions.revokeOthers")(function* (userId: UserId, current: SessionId) {
      yield* repository.removeByUser(userId, current)
    })

    /** Returns the number of revoked sessions. */
    const revokeAll = Effect.fn("Sessions.revokeAll")((userId: UserId) => repository.removeByUser(userId))

    /** Newest first. */
    const listByUser = Effect.fn("Sessions.listByUser")(function* (userId: UserId) {
      return yield* repository.listByUser(userId, yield* DateTime.now)
    })

    const revokeOwned = Effect.fn("Sessions.revokeOwned")(function* (userId: UserId, id: SessionId) {
      if (!(yield* repository.removeOwned(userId, id))) return yield* new SignInSessionNotFound()
      yield* Effect.logInfo("Session revoked").pipe(Effect.annotateLogs({ userId, sessionId: id }))
    })

    return {
      open,
      authenticate,
      find,
      findActiveIds,
      requireRecent,
      recordPasswordCheck,
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

const isDueForRenewal = (session: Session, now: DateTime.Utc): boolean =>
  Duration.greaterThan(
    Duration.subtract(sessionLifetime, DateTime.distanceDuration(session.expiresAt, now)),
    sessionRenewal
  )
