import { Data, DateTime, Effect, Option, type Redacted } from "effect"
import { SendPasswordResetJob } from "../../jobs/JobKind.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { AccountClaims } from "../claims/AccountClaims.ts"
import { EmailInvalid, UserNotFound } from "../../accounts/AccountErrors.ts"
import { validatePassword } from "../../accounts/password/PasswordPolicy.ts"
import { CommonPasswords } from "../../accounts/password/CommonPasswords.ts"
import { normalizeEmail, parseEmail } from "../../shared/Email.ts"
import { MailedTokenRepository } from "../../accounts/mailed-tokens/MailedTokenRepository.ts"
import { PasswordHasher } from "../../accounts/password/Password.ts"
import { UserRepository } from "../../accounts/UserRepository.ts"

/** The token is none of ours, too old, replaced by a later one, or used up. Which of them helps only who tries tokens. */
export class ResetTokenInvalid extends Data.TaggedError("ResetTokenInvalid")<object> {}

/** With a link in one's own mailbox a password may be as short as this. */
export const minimumResetPasswordLength = 6

const purpose = "password-reset"

/** A new password for whoever gets the account's mail. */
export class PasswordResets extends Effect.Service<PasswordResets>()("@berth/PasswordResets", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const mailed = yield* MailedTokenRepository
    const sessions = yield* Sessions
    const claims = yield* AccountClaims
    const hasher = yield* PasswordHasher
    const common = yield* CommonPasswords
    const tokens = yield* Tokens
    const outbox = yield* Outbox
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction

    /**
     * Asks for a link by mail. What is done here is the same whether or not there is such an account, since nobody looks: the
     * worker does, later. Too many for one address are dropped without a word.
     */
    const requestLink = Effect.fn("PasswordResets.requestLink")(function* (emailText: string) {
      const email = yield* Effect.mapError(parseEmail(emailText), () => new EmailInvalid())
      yield* limiter.take("forgot-password-account", normalizeEmail(email)).pipe(
        Effect.zipRight(outbox.append(SendPasswordResetJob, { email })),
        Effect.catchTag("RateLimitExceeded", () => Effect.logInfo("Too many forgotten passwords for one address"))
      )
    })

    /**
     * Sets the password of the account that the token was mailed for, uses the token up and ends all of the user's sessions. The
     * link proves the address that it was mailed to: an account whose e-mail nobody had proved is claimed with it.
     */
    const redeem = Effect.fn("PasswordResets.redeem")(function* (request: {
      readonly token: Redacted.Redacted
      readonly password: Redacted.Redacted
    }) {
      const password = yield* validatePassword(common, request.password, minimumResetPasswordLength)
      const tokenHash = tokens.hash(request.token)
      const live = yield* mailed.find(purpose, tokenHash, yield* DateTime.now)
      const { userId } = yield* Effect.mapError(live, () => new ResetTokenInvalid())
      const passwordHash = yield* hasher.hash(password)
      yield* transaction.run(
        Effect.gen(function* () {
          // The user before his tokens, as everywhere, so that nobody waits for who waits for him.
          const held = yield* Effect.mapError(yield* users.findForUpdate(userId), () => new UserNotFound())
          const spent = yield* mailed.consume(purpose, tokenHash, yield* DateTime.now)
          if (Option.isNone(spent)) return yield* new ResetTokenInvalid()
          if (held.emailVerifiedAt === null) yield* claims.claim(userId)
          if (!(yield* users.setPasswordHash(userId, passwordHash))) return yield* new UserNotFound()
          yield* sessions.revokeAll(userId)
        })
      )
      yield* Effect.annotateCurrentSpan("user.id", userId)
      yield* Effect.logInfo("A password was reset").pipe(Effect.annotateLogs("userId", userId))
    })

    return { requestLink, redeem }
  })
}) {}
