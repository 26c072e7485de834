import { DateTime, Effect, Option } from "effect"
import { Post } from "../mail/Post.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Tokens } from "../secrets/Tokens.ts"
import { passwordResetMail } from "./AccountMails.ts"
import { AccountRules } from "./AccountRules.ts"
import { type Email, emailKey } from "./Email.ts"
import { mailedTokenLifetimes } from "./MailedToken.ts"
import { MailedTokenRepository } from "./MailedTokenRepository.ts"
import { UserRepository } from "./UserRepository.ts"
import { isWalletEmail } from "./WalletEmail.ts"

const purpose = "password-reset"

/** The other half of a forgotten password: looks whose address it is, and mails him a link. */
export class PasswordResetMails extends Effect.Service<PasswordResetMails>()("@berth/PasswordResetMails", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const mailed = yield* MailedTokenRepository
    const tokens = yield* Tokens
    const post = yield* Post
    const transaction = yield* Transaction
    const rules = yield* AccountRules

    /** Doing it again for the same request changes nothing, and mails nothing. */
    const answer = Effect.fn("PasswordResetMails.answer")(function* (requestId: string, email: Email) {
      if (isWalletEmail(email, rules.walletEmailDomain)) return
      yield* transaction.run(
        Effect.gen(function* () {
          const account = yield* users.findByEmail(email)
          if (Option.isNone(account)) return
          const held = Option.filter(
            yield* users.hold(account.value.user.id),
            (user) => emailKey(user.email) === emailKey(email)
          )
          if (Option.isNone(held)) return
          const { email: to, id: userId } = held.value
          const token = yield* tokens.make
          const expiresAt = DateTime.addDuration(yield* DateTime.now, mailedTokenLifetimes[purpose])
          const isNew = yield* mailed.putIfLater(
            { userId, purpose, requestId, tokenHash: tokens.hash(token), email: to },
            expiresAt
          )
          if (!isNew) return
          yield* post.write(passwordResetMail(to, rules.appUrl, token), userId)
          yield* Effect.logInfo("A link for a new password was mailed").pipe(Effect.annotateLogs({ userId }))
        })
      )
    })

    return { answer }
  })
}) {}
