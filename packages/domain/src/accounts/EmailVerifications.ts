import { Data, DateTime, Effect, Option, type Redacted } from "effect"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { RateLimiter } from "../limits/RateLimiter.ts"
import { MatchCardEvents } from "../jobs/Job.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Post } from "../mail/Post.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Tokens } from "../secrets/Tokens.ts"
import { UserIsUnknown } from "./AccountErrors.ts"
import { emailVerificationMail } from "./AccountMails.ts"
import { AccountRules, isMadeUp } from "./AccountRules.ts"
import { emailKey } from "./Email.ts"
import { mailedTokenLifetimes } from "./MailedToken.ts"
import { MailedTokenRepository } from "./MailedTokenRepository.ts"
import { Referrals } from "./Referrals.ts"
import type { User, UserId } from "./User.ts"
import { UserRepository } from "./UserRepository.ts"

/** The link is none of ours, too old, or was mailed to an address that the account no longer has. */
export class VerificationLinkIsInvalid extends Data.TaggedError("VerificationLinkIsInvalid")<object> {}

/** Rights hang on confirmed addresses, and whoever opened the link has not shown that he means this account. */
export class SignInIsNeededToConfirm extends Data.TaggedError("SignInIsNeededToConfirm")<object> {}

const purpose = "email-verification"

/** Whose an e-mail address is, proved by a link that is mailed there. */
export class EmailVerifications extends Effect.Service<EmailVerifications>()("@berth/EmailVerifications", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const mailed = yield* MailedTokenRepository
    const referrals = yield* Referrals
    const tokens = yield* Tokens
    const ids = yield* IdGenerator
    const post = yield* Post
    const limiter = yield* RateLimiter
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const rules = yield* AccountRules

    /** Mails a new link, in the running transaction, which holds the user; the one before opens nothing any more. */
    const send = Effect.fn("EmailVerifications.send")(function* (user: User) {
      if (isMadeUp(user.email, rules)) return
      const token = yield* tokens.make
      const requestId = yield* ids.next("job")
      const expiresAt = DateTime.addDuration(yield* DateTime.now, mailedTokenLifetimes[purpose])
      const { email, id: userId } = user
      yield* mailed.put({ userId, purpose, requestId, tokenHash: tokens.hash(token), email }, expiresAt)
      yield* post.write(emailVerificationMail(email, rules.appUrl, token), userId)
    })

    /** A new link for whoever has lost his; nothing for an address that is confirmed. */
    const sendAgain = Effect.fn("EmailVerifications.sendAgain")(function* (user: User) {
      yield* limiter.take("email-verification", user.id)
      yield* transaction.run(
        Effect.gen(function* () {
          const held = yield* Effect.mapError(yield* users.hold(user.id), () => new UserIsUnknown())
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
        () => new VerificationLinkIsInvalid()
      )
      if (rules.verifiedEmailsOnly && !Option.contains(signedIn, found.userId))
        return yield* new SignInIsNeededToConfirm()
      return yield* transaction.run(
        Effect.gen(function* () {
          const user = yield* Effect.mapError(yield* users.hold(found.userId), () => new VerificationLinkIsInvalid())
          if (emailKey(user.email) !== emailKey(found.email)) return yield* new VerificationLinkIsInvalid()
          if (user.emailVerifiedAt !== null) return user.id
          yield* users.markEmailVerified(user.id)
          yield* referrals.pay(user.id)
          yield* outbox.append(MatchCardEvents, { userId: user.id }, user.id)
          yield* Effect.logInfo("An e-mail address was confirmed").pipe(Effect.annotateLogs("userId", user.id))
          return user.id
        })
      )
    })

    return { send, sendAgain, confirm }
  })
}) {}
