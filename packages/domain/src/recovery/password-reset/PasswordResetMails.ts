import { Effect, Option, type Redacted } from "effect"
import { joinMailLines, makeMailLink } from "../../accounts/AccountMails.ts"
import { AccountPolicy, isSyntheticEmail } from "../../accounts/AccountPolicy.ts"
import { mailedTokenLifetimes } from "../../accounts/mailed-tokens/MailedToken.ts"
import { MailedTokens } from "../../accounts/mailed-tokens/MailedTokens.ts"
import { Users } from "../../accounts/Users.ts"
import { type MailDraft, MailOutbox } from "../../mail/MailOutbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { type Email, normalizeEmail } from "../../shared/Email.ts"
import type { User } from "../../shared/User.ts"

export const composePasswordResetMail = (to: Email, appUrl: URL, token: Redacted.Redacted): MailDraft => ({
  to,
  lifetime: mailedTokenLifetimes["password-reset"],
  subject: "Choose a new password",
  text: joinMailLines(
    `A new password was requested for your account at ${appUrl.host}.`,
    "",
    "Choose one here within an hour:",
    "",
    makeMailLink(appUrl, "/reset-password", token),
    "",
    "The link works once. If you did not request it, ignore this mail; your password is unchanged."
  )
})

/**
 * Returns the account's address that may receive a reset link; excludes an unverified address that replaced a verified
 * one.
 */
const findResetAddress = (user: User, previous: Option.Option<Email>, requested: Email): Option.Option<Email> => {
  const isRequested = (email: Email) => normalizeEmail(email) === normalizeEmail(requested)
  const mayUseCurrent = user.emailVerifiedAt !== null || Option.isNone(previous)
  return Option.orElse(Option.filter(previous, isRequested), () =>
    mayUseCurrent && isRequested(user.email) ? Option.some(user.email) : Option.none()
  )
}

/** The worker's part of a password reset: finds the account of an address and mails the link. */
export class PasswordResetMails extends Effect.Service<PasswordResetMails>()("@berth/PasswordResetMails", {
  effect: Effect.gen(function* () {
    const users = yield* Users
    const mailed = yield* MailedTokens
    const mails = yield* MailOutbox
    const transaction = yield* Transaction
    const policy = yield* AccountPolicy

    /** Idempotent by request id. */
    const send = Effect.fn("PasswordResetMails.send")(
      function* (requestId: string, email: Email) {
        if (isSyntheticEmail(email, policy)) return
        const reserved = yield* mailed.findByEmail("email-change-undo", email)
        const known = Option.orElse(
          Option.map(yield* users.findByEmail(email), ({ id }) => id),
          () => Option.map(reserved, ({ userId }) => userId)
        )
        if (Option.isNone(known)) return
        const user = yield* users.findForUpdate(known.value)
        const previous = Option.map(yield* mailed.findByUser("email-change-undo", user.id), (token) => token.email)
        const to = findResetAddress(user, previous, email)
        if (Option.isNone(to)) return
        const token = yield* mailed.issueForRequest("password-reset", { id: user.id, email: to.value }, requestId)
        if (Option.isNone(token)) return
        yield* mails.append(composePasswordResetMail(to.value, policy.appUrl, token.value), user.id)
        yield* Effect.logInfo("Password reset link mailed").pipe(Effect.annotateLogs({ userId: user.id }))
      },
      (sending) => transaction.run(sending),
      Effect.catchTag("UserNotFound", () => Effect.void)
    )

    return { send }
  })
}) {}
