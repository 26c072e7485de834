import { Data, DateTime, Duration, Effect, Option, Redacted } from "effect"
import { Transaction } from "../../persistence/Transaction.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import type { SessionId } from "../../sessions/Session.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { SocialSessionRepository } from "./SocialSessionRepository.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Fixed, not sliding. */
export const socialSessionLifetime = Duration.seconds(86_400)

/** The refresh token is unknown, expired or already exchanged. */
export class RefreshTokenInvalid extends Data.TaggedError("RefreshTokenInvalid")<object> {}

/** Standard base64, required by the interface specification. */
const toBase64 = (token: Redacted.Redacted) =>
  Redacted.make(`${Redacted.value(token).replaceAll("-", "+").replaceAll("_", "/")}=`)

/**
 * Sessions of clients with a rotating token instead of a cookie. Each belongs to a row of `sessions` and ends with it.
 */
export class SocialSessions extends Effect.Service<SocialSessions>()("@berth/SocialSessions", {
  effect: Effect.gen(function* () {
    const repository = yield* SocialSessionRepository
    const sessions = yield* Sessions
    const tokens = yield* Tokens
    const digests = yield* Digests
    const transaction = yield* Transaction

    const issue = Effect.fnUntraced(function* (sessionId: SessionId, expiresAt: DateTime.Utc) {
      const token = toBase64(yield* tokens.make)
      yield* repository.insert({ tokenHash: hashSecret(digests, token), sessionId, expiresAt })
      return token
    })

    /** Returns the token of a new session; it is not stored. */
    const open = Effect.fn("SocialSessions.open")(function* (userId: UserId) {
      const { session } = yield* sessions.open(userId, socialSessionLifetime)
      return yield* issue(session.id, session.expiresAt)
    }, transaction.run)

    const authenticate = Effect.fn("SocialSessions.authenticate")(function* (token: Redacted.Redacted) {
      const id = yield* repository.find(hashSecret(digests, token), yield* DateTime.now)
      return yield* Option.match(id, { onNone: () => Effect.succeedNone, onSome: sessions.find })
    })

    /** Exchanges a token for its successor. A replayed token revokes its session (RFC 9700, 4.14.2). */
    const refresh = Effect.fn("SocialSessions.refresh")(function* (token: Redacted.Redacted) {
      const next = yield* transaction.run(
        Effect.gen(function* () {
          const exchanged = yield* repository.exchange(hashSecret(digests, token), yield* DateTime.now)
          if (Option.isNone(exchanged)) return Option.none<Redacted.Redacted>()
          const { isFirst, sessionId } = exchanged.value
          if (isFirst) {
            const expiresAt = yield* sessions.extend(sessionId, socialSessionLifetime)
            return yield* Effect.transposeMapOption(expiresAt, (until) => issue(sessionId, until))
          }
          yield* sessions.revokeById(sessionId)
          yield* Effect.logWarning("Session revoked after a replayed refresh token").pipe(
            Effect.annotateLogs({ sessionId })
          )
          return Option.none<Redacted.Redacted>()
        })
      )
      return yield* Effect.mapError(next, () => new RefreshTokenInvalid())
    })

    const close = Effect.fn("SocialSessions.close")(function* (token: Redacted.Redacted) {
      const id = yield* repository.find(hashSecret(digests, token), yield* DateTime.now)
      yield* Option.match(id, { onNone: () => Effect.void, onSome: sessions.revokeById })
    })

    return { open, authenticate, refresh, close }
  })
}) {}
