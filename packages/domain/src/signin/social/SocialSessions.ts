import { Data, DateTime, Duration, Effect, Option, Redacted } from "effect"
import { Transaction } from "../../persistence/Transaction.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import type { SessionId } from "../../sessions/Session.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { SocialSessionRepository } from "./SocialSessionRepository.ts"
import type { UserId } from "../../shared/UserId.ts"

/** How long a token lives, whether or not it is used. */
export const socialSessionLifetime = Duration.seconds(86_400)

/** No token of ours, one that is over, or one that was exchanged before. */
export class RefreshTokenInvalid extends Data.TaggedError("RefreshTokenInvalid")<object> {}

/** The token in standard base64, as the interface says it. */
const toBase64 = (token: Redacted.Redacted) =>
  Redacted.make(`${Redacted.value(token).replaceAll("-", "+").replaceAll("_", "/")}=`)

/**
 * Sessions whose client shows a token instead of a cookie and exchanges it for the next before a day is over. Each is a
 * session like every other, so that whatever ends sessions ends it; nobody has the token that its own row names.
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

    /** A new session's token, which is told this once. */
    const open = Effect.fn("SocialSessions.open")(function* (userId: UserId) {
      return yield* transaction.run(
        Effect.gen(function* () {
          const { session } = yield* sessions.open(userId, socialSessionLifetime)
          return yield* issue(session.id, session.expiresAt)
        })
      )
    })

    /** The session behind a token, with its user. */
    const authenticate = Effect.fn("SocialSessions.authenticate")(function* (token: Redacted.Redacted) {
      const id = yield* repository.find(hashSecret(digests, token), yield* DateTime.now)
      return yield* Option.match(id, { onNone: () => Effect.succeedNone, onSome: sessions.find })
    })

    /** The next token. One that was exchanged before is in two hands: its session ends for both. */
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
          yield* Effect.logWarning(
            "A token was shown again after it had been exchanged, so its session was ended"
          ).pipe(Effect.annotateLogs({ sessionId }))
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
