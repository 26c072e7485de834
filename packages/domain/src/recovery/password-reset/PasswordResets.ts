import { Data, DateTime, Effect, Option, type Redacted, Schema } from "effect"
import { EmailInvalid } from "../../accounts/AccountErrors.ts"
import { ApiKeys } from "../../accounts/api-keys/ApiKeys.ts"
import { MailedTokens } from "../../accounts/mailed-tokens/MailedTokens.ts"
import { CommonPasswords } from "../../accounts/password/CommonPasswords.ts"
import { minimumResetPasswordLength, validatePassword } from "../../accounts/password/Password.ts"
import { PasswordCredentials } from "../../accounts/password/PasswordCredentials.ts"
import { PasswordHasher } from "../../accounts/password/PasswordHasher.ts"
import { Users } from "../../accounts/Users.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { normalizeEmail, parseEmail } from "../../shared/Email.ts"
import { AccountClaims } from "../claims/AccountClaims.ts"
import { defineJob } from "../../jobs/JobKind.ts"

/** Sends a reset link if the address belongs to an account; only the worker looks up the account. */
export const SendPasswordResetJob = defineJob({
  queue: "mail",
  name: "forgotten-password",
  payload: Schema.Struct({ email: Schema.String })
})

/** The same error for unknown, expired, replaced and used tokens. */
export class ResetTokenInvalid extends Data.TaggedError("ResetTokenInvalid")<object> {}

const purpose = "password-reset"

export class PasswordResets extends Effect.Service<PasswordResets>()("@berth/PasswordResets", {
  effect: Effect.gen(function* () {
    const users = yield* Users
    const credentials = yield* PasswordCredentials
    const mailed = yield* MailedTokens
    const sessions = yield* Sessions
    const apiKeys = yield* ApiKeys
    const claims = yield* AccountClaims
    const hasher = yield* PasswordHasher
    const common = yield* CommonPasswords
    const outbox = yield* Outbox
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction

    /**
     * Requests a link by mail. The worker looks up the account later, so that the response and its time are equal for
     * every address. Drops requests over the account limit silently.
     */
    const requestLink = Effect.fn("PasswordResets.requestLink")(function* (emailText: string) {
      const email = yield* Effect.mapError(parseEmail(emailText), () => new EmailInvalid())
      yield* limiter.take("forgot-password-account", normalizeEmail(email)).pipe(
        Effect.zipRight(outbox.append(SendPasswordResetJob, { email })),
        Effect.catchTag("RateLimitExceeded", () => Effect.logInfo("Password reset request dropped"))
      )
    })

    /**
     * Sets the password, consumes the token and revokes all sessions of the user. The link proves ownership of its
     * address, so an account with an unverified address is claimed.
     */
    const redeem = Effect.fn("PasswordResets.redeem")(function* (request: {
      readonly token: Redacted.Redacted
      readonly password: Redacted.Redacted
    }) {
      const password = yield* validatePassword(common, request.password, minimumResetPasswordLength)
      const live = yield* mailed.find(purpose, request.token)
      const { userId } = yield* Effect.mapError(live, () => new ResetTokenInvalid())
      const passwordHash = yield* hasher.hash(password)
      yield* transaction.run(
        Effect.gen(function* () {
          // Lock order: users before tokens.
          const user = yield* users.findForUpdate(userId)
          const { email } = yield* Effect.mapError(
            yield* mailed.consume(purpose, request.token),
            () => new ResetTokenInvalid()
          )
          const previous = yield* mailed.findByUser("email-change-undo", userId)
          const isPrevious = Option.exists(previous, (known) => normalizeEmail(known.email) === normalizeEmail(email))
          if (user.emailVerifiedAt === null && !isPrevious)
            yield* Effect.mapError(claims.claim(userId), () => new ResetTokenInvalid())
          yield* credentials.set(userId, passwordHash)
          // Sessions first: waits for a session that is creating a key.
          yield* sessions.revokeAll(userId)
          yield* apiKeys.revokeSince(userId, DateTime.unsafeMake(0))
        })
      )
      yield* Effect.annotateCurrentSpan("user.id", userId)
      yield* Effect.logInfo("Password reset").pipe(Effect.annotateLogs("userId", userId))
    })

    return { requestLink, redeem }
  })
}) {}
