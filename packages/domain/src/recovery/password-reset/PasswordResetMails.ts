import { DateTime, Effect, Option } from "effect"
import { MailOutbox } from "../../mail/MailOutbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import { composePasswordResetMail } from "../../accounts/AccountMails.ts"
import { AccountPolicy, isSyntheticEmail } from "../../accounts/AccountPolicy.ts"
import { type Email, normalizeEmail } from "../../shared/Email.ts"
import { mailedTokenLifetimes } from "../../accounts/mailed-tokens/MailedToken.ts"
import { MailedTokenRepository } from "../../accounts/mailed-tokens/MailedTokenRepository.ts"
import { UserRepository } from "../../accounts/UserRepository.ts"

const purpose = "password-reset"

/** The other half of a forgotten password: looks whose address it is, and mails him a link. */
export class PasswordResetMails extends Effect.Service<PasswordResetMails>()("@berth/PasswordResetMails", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const mailed = yield* MailedTokenRepository
    const tokens = yield* Tokens
    const post = yield* MailOutbox
    const transaction = yield* Transaction
    const rules = yield* AccountPolicy

    /** Doing it again for the same request changes nothing, and mails nothing. */
    const send = Effect.fn("PasswordResetMails.send")(function* (requestId: string, email: Email) {
      if (isSyntheticEmail(email, rules)) return
      yield* transaction.run(
        Effect.gen(function* () {
          const account = yield* users.findByEmail(email)
          if (Option.isNone(account)) return
          const held = Option.filter(
            yield* users.findForUpdate(account.value.user.id),
            (user) => normalizeEmail(user.email) === normalizeEmail(email)
          )
          if (Option.isNone(held)) return
          const { email: to, id: userId } = held.value
          const token = yield* tokens.make
          const expiresAt = DateTime.addDuration(yield* DateTime.now, mailedTokenLifetimes[purpose])
          const isNew = yield* mailed.replaceIfNewer(
            { userId, purpose, requestId, tokenHash: tokens.hash(token), email: to },
            expiresAt
          )
          if (!isNew) return
          yield* post.append(composePasswordResetMail(to, rules.appUrl, token), userId)
          yield* Effect.logInfo("A link for a new password was mailed").pipe(Effect.annotateLogs({ userId }))
        })
      )
    })

    return { send }
  })
}) {}
