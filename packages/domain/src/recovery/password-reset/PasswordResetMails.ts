import { Effect, Option, type Redacted } from "effect"
import { joinMailLines, makeMailLink } from "../../accounts/AccountMails.ts"
import { AccountPolicy, isSyntheticEmail } from "../../accounts/AccountPolicy.ts"
import { MailedTokens } from "../../accounts/mailed-tokens/MailedTokens.ts"
import { Users } from "../../accounts/Users.ts"
import { type MailDraft, MailOutbox } from "../../mail/MailOutbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { type Email, normalizeEmail } from "../../shared/Email.ts"

export const composePasswordResetMail = (to: Email, appUrl: URL, token: Redacted.Redacted): MailDraft => ({
  to,
  subject: "Choose a new password",
  text: joinMailLines(
    `Somebody, hopefully you, asked for a new password at ${appUrl.host}.`,
    "",
    "Choose one here within an hour:",
    "",
    makeMailLink(appUrl, "/reset-password", token),
    "",
    "The link works once. If it was not you, do nothing: your password stays as it is."
  )
})

/** The worker's half of a password reset: finds the account of an address and mails the link. */
export class PasswordResetMails extends Effect.Service<PasswordResetMails>()("@berth/PasswordResetMails", {
  effect: Effect.gen(function* () {
    const users = yield* Users
    const mailed = yield* MailedTokens
    const mails = yield* MailOutbox
    const transaction = yield* Transaction
    const policy = yield* AccountPolicy

    /** Idempotent for each request id. */
    const send = Effect.fn("PasswordResetMails.send")(
      function* (requestId: string, email: Email) {
        if (isSyntheticEmail(email, policy)) return
        const account = yield* users.findByEmail(email)
        if (Option.isNone(account)) return
        const user = yield* users.findForUpdate(account.value.id)
        // The address may have changed between the two reads.
        if (normalizeEmail(user.email) !== normalizeEmail(email)) return
        const token = yield* mailed.issueForRequest("password-reset", user, requestId)
        if (Option.isNone(token)) return
        yield* mails.append(composePasswordResetMail(user.email, policy.appUrl, token.value), user.id)
        yield* Effect.logInfo("Password reset link mailed").pipe(Effect.annotateLogs({ userId: user.id }))
      },
      (sending) => transaction.run(sending),
      Effect.catchTag("UserNotFound", () => Effect.void)
    )

    return { send }
  })
}) {}
