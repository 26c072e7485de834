import { Redacted } from "effect"
import type { Mail } from "../mail/Mail.ts"
import type { Email } from "../shared/Email.ts"

/*
 * What accounts are mailed about. Nothing that a user has written stands in a mail: whoever registers with another's address
 * would write to him.
 */

type Letter = Omit<Mail, "id">

const linkTo = (appUrl: URL, path: string, token: Redacted.Redacted) =>
  `${appUrl.origin}${path}?token=${encodeURIComponent(Redacted.value(token))}`

const lines = (...text: ReadonlyArray<string>) => `${text.join("\n")}\n`

export const composePasswordResetMail = (to: Email, appUrl: URL, token: Redacted.Redacted): Letter => ({
  to,
  subject: "Choose a new password",
  text: lines(
    `Somebody, hopefully you, asked for a new password at ${appUrl.host}.`,
    "",
    "Choose one here within an hour:",
    "",
    linkTo(appUrl, "/reset-password", token),
    "",
    "The link works once. If it was not you, do nothing: your password stays as it is."
  )
})

export const composeEmailVerificationMail = (to: Email, appUrl: URL, token: Redacted.Redacted): Letter => ({
  to,
  subject: "Confirm your e-mail address",
  text: lines(
    `This address was given for an account at ${appUrl.host}.`,
    "",
    "Confirm within 24 hours that it is yours:",
    "",
    linkTo(appUrl, "/api/auth/verify-email", token),
    "",
    "If the account is not yours, do not open the link, and nothing happens."
  )
})

export const composeEmailChangedMail = (to: Email, appUrl: URL): Letter => ({
  to,
  subject: "Your e-mail address was changed",
  text: lines(
    `Your account at ${appUrl.host} has another e-mail address from now on, and this one is no longer used for it.`,
    "",
    "If it was not you, somebody else is signed in to your account: sign in, change the password, which ends every other",
    "session, and set the address back."
  )
})
