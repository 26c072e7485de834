import { Option, Redacted } from "effect"
import { mailedTokenLifetimes } from "./mailed-tokens/MailedToken.ts"
import type { MailDraft } from "../mail/MailOutbox.ts"
import type { Email } from "../shared/Email.ts"

/* Account mails contain no text written by users, since anyone can register with another person's address. */

export const makeMailLink = (appUrl: URL, path: string, token: Redacted.Redacted) =>
  `${appUrl.origin}${path}?token=${encodeURIComponent(Redacted.value(token))}`

export const joinMailLines = (...text: ReadonlyArray<string>) => `${text.join("\n")}\n`

export const composeEmailVerificationMail = (to: Email, appUrl: URL, token: Redacted.Redacted): MailDraft => ({
  to,
  lifetime: mailedTokenLifetimes["email-verification"],
  subject: "Confirm your email address",
  text: joinMailLines(
    `This address was given for an account at ${appUrl.host}.`,
    "",
    "Confirm within 24 hours that it is yours:",
    "",
    makeMailLink(appUrl, "/api/auth/verify-email", token),
    "",
    "If the account is not yours, do not open the link, and nothing happens."
  )
})

/** `undo` is the token of a link that restores a verified address. */
export const composeEmailChangedMail = (to: Email, appUrl: URL, undo: Option.Option<Redacted.Redacted>): MailDraft => ({
  to,
  lifetime: mailedTokenLifetimes["email-change-undo"],
  subject: "Your email address was changed",
  text: joinMailLines(
    `Your account at ${appUrl.host} has another email address from now on, and this one is no longer used for it.`,
    "",
    ...Option.match(undo, {
      onNone: () => [
        "If you did not change it, another person is signed in to your account: sign in, change the password, which ends every",
        "other session, and set the address back."
      ],
      onSome: (token) => [
        "If you did not change it, undo the change within seven days. This ends every session:",
        "",
        makeMailLink(appUrl, "/undo-email-change", token)
      ]
    })
  )
})

/** `event` names the new access method in a sentence. */
export const composeAccessMethodMail = (to: Email, appUrl: URL, event: string): MailDraft => ({
  to,
  subject: "A new way to sign in to your account",
  text: joinMailLines(
    `Your account at ${appUrl.host} can be reached in a new way:`,
    "",
    event,
    "",
    "If it was not you, request a new password, which ends every session, and then remove what you do not know:",
    "",
    `${appUrl.origin}/login`
  )
})
