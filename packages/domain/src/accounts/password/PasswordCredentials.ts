import { Data, Effect, Equal, Option, type Redacted } from "effect"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import type { CurrentUser } from "../../sessions/CurrentUser.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { parseEmail } from "../../shared/Email.ts"
import { CurrentPasswordIncorrect, UserNotFound } from "../AccountErrors.ts"
import { AccessNotices } from "../access-notices/AccessNotices.ts"
import { MailedTokens } from "../mailed-tokens/MailedTokens.ts"
import { UserRepository } from "../UserRepository.ts"
import { PasswordHasher } from "./PasswordHasher.ts"
import type { UserId } from "../../shared/UserId.ts"

/** The same error for every cause, so that a response never reveals whether the account exists. */
export class CredentialsInvalid extends Data.TaggedError("CredentialsInvalid")<object> {}

/** Checks email and password. Every check costs one password verification, whether or not the account exists. */
export class PasswordCredentials extends Effect.Service<PasswordCredentials>()("@berth/PasswordCredentials", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const hasher = yield* PasswordHasher
    const mailed = yield* MailedTokens
    const sessions = yield* Sessions
    const notices = yield* AccessNotices
    const limiter = yield* RateLimiter

    const matches = (password: Redacted.Redacted, passwordHash: Option.Option<string>) =>
      Option.match(passwordHash, {
        onNone: () => hasher.verifyDummy(password),
        onSome: (hash) => hasher.verify(password, hash)
      })

    /**
     * Joins a transaction: fails if the hash has changed since its verification, and prevents a change until the end.
     */
    const holdPassword = <E>(userId: UserId, verified: Option.Option<string>, changed: () => E) =>
      Effect.filterOrFail(
        users.findPasswordHashForUpdate(userId),
        (current) => Equal.equals(current, verified),
        changed
      )

    /** Returns the user of these credentials. `hold` joins the transaction that relies on them. */
    const verify = Effect.fn("PasswordCredentials.verify")(function* (emailText: string, password: Redacted.Redacted) {
      const account = yield* Option.match(parseEmail(emailText), {
        onNone: () => Effect.succeedNone,
        onSome: users.findByEmail
      })
      const passwordHash = Option.flatMap(account, (credentials) => credentials.passwordHash)
      const isCorrect = yield* matches(password, passwordHash)
      if (Option.isNone(account) || !isCorrect) return yield* new CredentialsInvalid()
      const { user } = account.value
      return { user, hold: holdPassword(user.id, passwordHash, () => new CredentialsInvalid()) }
    })

    /** Checks the password of a signed-in user. `hold`: see `verify`. */
    const verifyCurrent = Effect.fn("PasswordCredentials.verifyCurrent")(function* (
      { sessionId, user: { id: userId } }: CurrentUser["Type"],
      password: Redacted.Redacted
    ) {
      // Bounds guesses by a stolen session without affecting the owner's other sessions. A correct password returns its
      // token.
      const limitKey = `password in ${sessionId}`
      yield* limiter.take("sign-in-account", limitKey)
      const passwordHash = yield* users.findPasswordHash(userId)
      if (!(yield* matches(password, passwordHash))) return yield* new CurrentPasswordIncorrect()
      yield* limiter.refund("sign-in-account", limitKey)
      yield* sessions.recordPasswordCheck(sessionId)
      return { hold: holdPassword(userId, passwordHash, () => new CurrentPasswordIncorrect()) }
    })

    /** Joins the running transaction. */
    const revokeResetLinks = Effect.fn("PasswordCredentials.revokeResetLinks")(function* (userId: UserId) {
      yield* mailed.revoke(userId, "password-reset")
    })

    const exists = Effect.fn("PasswordCredentials.exists")(function* (userId: UserId) {
      return Option.isSome(yield* users.findPasswordHash(userId))
    })

    /** Sets a new password without the present one. Joins the running transaction. */
    const set = Effect.fn("PasswordCredentials.set")(function* (userId: UserId, passwordHash: string) {
      if (!(yield* users.setPasswordHash(userId, passwordHash))) return yield* new UserNotFound()
      yield* notices.announce(userId, "A new password was set by a mailed link.")
    })

    /** Removes a password that was set at `since` or later. Joins the running transaction. */
    const removePassword = users.removePasswordHash

    return { verify, verifyCurrent, exists, set, removePassword, revokeResetLinks }
  })
}) {}
