import { Data, DateTime, Effect, Option, type Redacted } from "effect"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { MatchCardEventsJob } from "../../jobs/JobKind.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { MailOutbox } from "../../mail/MailOutbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import { UserNotFound } from "../AccountErrors.ts"
import { composeEmailVerificationMail } from "../AccountMails.ts"
import { AccountPolicy, isSyntheticEmail } from "../AccountPolicy.ts"
import { normalizeEmail } from "../../shared/Email.ts"
import { mailedTokenLifetimes } from "../mailed-tokens/MailedToken.ts"
import { MailedTokenRepository } from "../mailed-tokens/MailedTokenRepository.ts"
import { Referrals } from "../referrals/Referrals.ts"
import type { User, UserId } from "../../shared/User.ts"
import { UserRepository } from "../UserRepository.ts"

/** The link is none of ours, too old, or was mailed to an address that the account no longer has. */
export class VerificationLinkInvalid extends Data.TaggedError("VerificationLinkInvalid")<object> {}

/** Rights hang on confirmed addresses, and whoever opened the link has not shown that he means this account. */
export class ConfirmationSignInRequired extends Data.TaggedError("ConfirmationSignInRequired")<object> {}

const purpose = "email-verification"

/** Whose an e-mail address is, proved by a link that is mailed there. */
export class EmailVerifications extends Effect.Service<EmailVerifications>()("@berth/EmailVerifications", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const mailed = yield* MailedTokenRepository
    const referrals = yield* Referrals
    const tokens = yield* Tokens
    const ids = yield* IdGenerator
    const post = yield* MailOutbox
    const limiter = yield* RateLimiter
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const rules = yield* AccountPolicy

    /** Mails a new link, in the running transaction, which holds the user; the one before opens nothing any more. */
    const send = Effect.fn("EmailVerifications.send")(function* (user: User) {
      if (isSyntheticEmail(user.email, rules)) return
      const token = yield* tokens.make
      const requestId = yield* ids.next("job")
      const expiresAt = DateTime.addDuration(yield* DateTime.now, mailedTokenLifetimes[purpose])
      const { email, id: userId } = user
      yield* mailed.replace({ userId, purpose, requestId, tokenHash: tokens.hash(token), email }, expiresAt)
      yield* post.append(composeEmailVerificationMail(email, rules.appUrl, token), userId)
    })

    /** A new link for whoever has lost his; nothing for an address that is confirmed. */
    const resend = Effect.fn("EmailVerifications.resend")(function* (user: User) {
      yield* limiter.take("email-verification", user.id)
      yield* transaction.run(
        Effect.gen(function* () {
          const held = yield* Effect.mapError(yield* users.findForUpdate(user.id), () => new UserNotFound())
          if (held.emailVerifiedAt === null) yield* send(held)
        })
      )
    })

    /**
     * Confirms the address that the link was mailed to. It may be opened any number of times while it is live: mail programs look
     * at links before people do. Where rights hang on it, only who is signed in to the account confirms: else a mail program, or
     * a careless click, would confirm what a stranger registered with somebody's address.
     */
    const confirm = Effect.fn("EmailVerifications.confirm")(function* (
      token: Redacted.Redacted,
      signedIn: Option.Option<UserId>
    ) {
      const found = yield* Effect.mapError(
        yield* mailed.find(purpose, tokens.hash(token), yield* DateTime.now),
        () => new VerificationLinkInvalid()
      )
      if (rules.verifiedEmailsOnly && !Option.contains(signedIn, found.userId))
        return yield* new ConfirmationSignInRequired()
      return yield* transaction.run(
        Effect.gen(function* () {
          const user = yield* Effect.mapError(
            yield* users.findForUpdate(found.userId),
            () => new VerificationLinkInvalid()
          )
          if (normalizeEmail(user.email) !== normalizeEmail(found.email)) return yield* new VerificationLinkInvalid()
          if (user.emailVerifiedAt !== null) return user.id
          yield* users.markEmailVerified(user.id)
          yield* referrals.payReward(user.id)
          yield* outbox.append(MatchCardEventsJob, { userId: user.id }, user.id)
          yield* Effect.logInfo("An e-mail address was confirmed").pipe(Effect.annotateLogs("userId", user.id))
          return user.id
        })
      )
    })

    return { send, resend, confirm }
  })
}) {}
