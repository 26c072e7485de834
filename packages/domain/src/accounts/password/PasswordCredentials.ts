import { Data, Effect, Equal, Option, type Redacted } from "effect"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { SessionId } from "../../sessions/Session.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { CurrentPasswordIncorrect } from "../AccountErrors.ts"
import { validatePassword } from "./PasswordPolicy.ts"
import { CommonPasswords } from "./CommonPasswords.ts"
import { parseEmail } from "../../shared/Email.ts"
import { MailedTokenRepository } from "../mailed-tokens/MailedTokenRepository.ts"
import { PasswordHasher } from "./Password.ts"
import type { User, UserId } from "../../shared/User.ts"
import { UserRepository } from "../UserRepository.ts"

/** One error for every cause, so that an answer never tells whether the account exists. */
export class CredentialsInvalid extends Data.TaggedError("CredentialsInvalid")<object> {}

/** E-mail and password. Checking them takes one password verification whether or not the account exists. */
export class PasswordCredentials extends Effect.Service<PasswordCredentials>()("@berth/CredentialValues", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const hasher = yield* PasswordHasher
    const common = yield* CommonPasswords
    const mailed = yield* MailedTokenRepository
    const sessions = yield* Sessions
    const transaction = yield* Transaction
    const limiter = yield* RateLimiter

    /**
     * Whose credentials these are. `hold` joins a transaction, fails when the password was changed since it was looked at, and
     * keeps it until that transaction ends: what is made in it was made by a password that held.
     */
    const verify = Effect.fn("PasswordCredentials.verify")(function* (emailText: string, password: Redacted.Redacted) {
      const account = yield* Option.match(parseEmail(emailText), {
        onNone: () => Effect.succeedNone,
        onSome: users.findByEmail
      })
      const passwordHash = Option.flatMap(account, ({ passwordHash }) => passwordHash)
      const right = yield* Option.match(passwordHash, {
        onNone: () => hasher.verifyDummy(password),
        onSome: (hash) => hasher.verify(password, hash)
      })
      if (Option.isNone(account) || !right) return yield* new CredentialsInvalid()
      const { user } = account.value
      const hold = Effect.filterOrFail(
        users.findPasswordHashForUpdate(user.id),
        (held) => Equal.equals(held, passwordHash),
        () => new CredentialsInvalid()
      )
      return { user, hold }
    })

    /** That who is signed in knows the password. `hold` is as for `verify`. */
    const verifyCurrent = Effect.fn("CredentialValues.verifyCurrent")(function* (
      userId: UserId,
      password: Redacted.Redacted
    ) {
      // Whoever holds a session must not try passwords with it, nor keep everybody's hashing busy. A right one is given back.
      const limitKey = `password of ${userId}`
      yield* limiter.take("sign-in-account", limitKey)
      const passwordHash = yield* users.findPasswordHash(userId)
      const right = yield* Option.match(passwordHash, {
        onNone: () => hasher.verifyDummy(password),
        onSome: (known) => hasher.verify(password, known)
      })
      if (!right) return yield* new CurrentPasswordIncorrect()
      yield* limiter.refund("sign-in-account", limitKey)
      const hold = Effect.filterOrFail(
        users.findPasswordHashForUpdate(userId),
        (held) => Equal.equals(held, passwordHash),
        () => new CurrentPasswordIncorrect()
      )
      return { hold }
    })

    /** No link that was mailed so far sets the user's password any more. Joins the running transaction. */
    const revokeResetLinks = Effect.fn("CredentialValues.revokeResetLinks")(function* (userId: UserId) {
      yield* mailed.revoke(userId, "password-reset")
    })

    /** Sets a new password for whoever knows the present one, ends the user's other sessions and takes back a mailed link for another. */
    const change = Effect.fn("PasswordCredentials.change")(function* (
      current: { readonly user: User; readonly sessionId: SessionId },
      passwords: { readonly current: Redacted.Redacted; readonly next: Redacted.Redacted }
    ) {
      const next = yield* validatePassword(common, passwords.next)
      yield* verifyCurrent(current.user.id, passwords.current)
      const nextHash = yield* hasher.hash(next)
      yield* transaction.run(
        Effect.gen(function* () {
          yield* users.setPasswordHash(current.user.id, nextHash)
          yield* sessions.lock(current.sessionId)
          yield* revokeResetLinks(current.user.id)
          yield* sessions.revokeOthers(current.user.id, current.sessionId)
        })
      )
      yield* Effect.logInfo("A password was changed").pipe(Effect.annotateLogs("userId", current.user.id))
    })

    /** Nobody gets in by a password any more until one is set again. */
    const removePassword = Effect.fn("CredentialValues.removePassword")(function* (userId: UserId) {
      yield* users.removePasswordHash(userId)
    })

    return { verify, verifyCurrent, change, removePassword, revokeResetLinks }
  })
}) {}
