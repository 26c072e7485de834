import { Data, Effect, Option, type Redacted } from "effect"
import { Outbox } from "../../jobs/Outbox.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { MailOutbox } from "../../mail/MailOutbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { normalizeEmail } from "../../shared/Email.ts"
import type { User } from "../../shared/User.ts"
import { UserNotFound } from "../AccountErrors.ts"
import { composeEmailVerificationMail } from "../AccountMails.ts"
import { AccountPolicy, isSyntheticEmail } from "../AccountPolicy.ts"
import { MailedTokens } from "../mailed-tokens/MailedTokens.ts"
import { Referrals } from "../referrals/Referrals.ts"
import { UserRepository } from "../UserRepository.ts"
import type { UserId } from "../../shared/UserId.ts"
import { EmailAddressConfirmedJob } from "../AccountJobs.ts"

/** The link is unknown, expired, or was mailed to an address that the account no longer has. */
class VerificationLinkInvalid extends Data.TaggedError("VerificationLinkInvalid")<object> {}

/** The link was opened without a session of its account, where rights depend on verified addresses. */
class ConfirmationSignInRequired extends Data.TaggedError("ConfirmationSignInRequired")<object> {}

const purpose = "email-verification"

export class EmailVerifications extends Effect.Service<EmailVerifications>()("@berth/EmailVerifications", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const mailed = yield* MailedTokens
    const referrals = yield* Referrals
    const mails = yield* MailOutbox
    const limiter = yield* RateLimiter
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const policy = yield* AccountPolicy

    const send = Effect.fnUntraced(function* (user: User) {
      if (isSyntheticEmail(user.email, policy)) return
      const token = yield* mailed.issue(purpose, user)
      yield* mails.append(composeEmailVerificationMail(user.email, policy.appUrl, token), user.id)
    })

    const matchCardEvents = (userId: UserId) => outbox.append(EmailAddressConfirmedJob, { userId }, userId)

    /**
     * Mails a link to a new address. Joins the running transaction, which holds the lock on the user. Card payments
     * stored for the address are matched at once only where an unverified address has rights.
     */
    const start = Effect.fn("EmailVerifications.start")(function* (user: User) {
      yield* send(user)
      if (!policy.verifiedEmailsOnly) yield* matchCardEvents(user.id)
    })

    /** Mails another link; none if the address is verified. */
    const resend = Effect.fn("EmailVerifications.resend")(function* (user: User) {
      yield* limiter.take("email-verification", user.id)
      yield* transaction.run(
        Effect.gen(function* () {
          const locked = yield* Effect.mapError(yield* users.findForUpdate(user.id), () => new UserNotFound())
          if (locked.emailVerifiedAt === null) yield* send(locked)
        })
      )
    })

    /**
     * Verifies the address of a link. Idempotent while the link is live, since mail programs fetch links too. In
     * production, confirmation requires a session of the account, so that a mail program cannot verify an address
     * registered by a stranger.
     */
    const confirm = Effect.fn("EmailVerifications.confirm")(function* (
      token: Redacted.Redacted,
      signedIn: Option.Option<UserId>
    ) {
      const mailedToken = yield* Effect.mapError(
        yield* mailed.find(purpose, token),
        () => new VerificationLinkInvalid()
      )
      if (policy.verifiedEmailsOnly && !Option.contains(signedIn, mailedToken.userId))
        return yield* new ConfirmationSignInRequired()
      return yield* transaction.run(
        Effect.gen(function* () {
          const user = yield* Effect.mapError(
            yield* users.findForUpdate(mailedToken.userId),
            () => new VerificationLinkInvalid()
          )
          if (normalizeEmail(user.email) !== normalizeEmail(mailedToken.email))
            return yield* new VerificationLinkInvalid()
          if (user.emailVerifiedAt !== null) return user.id
          yield* users.markEmailVerified(user.id)
          yield* referrals.payReward(user.id)
          yield* matchCardEvents(user.id)
          yield* Effect.logInfo("Email address verified").pipe(Effect.annotateLogs("userId", user.id))
          return user.id
        })
      )
    })

    return { start, resend, confirm }
  })
}) {}
