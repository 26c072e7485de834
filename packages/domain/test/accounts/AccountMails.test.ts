import { composeEmailChangedMail, composeEmailVerificationMail } from "@berth/domain/accounts/AccountMails"
import { composePasswordResetMail } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { Email } from "@berth/domain/shared/Email"
import { validateMail } from "@berth/domain/mail/Mailer"
import { MailId } from "@berth/domain/mail/Mail"
import { assert, describe, it } from "@effect/vitest"
import { Either, Option, Redacted } from "effect"

const to = Email.make("ada@example.com")
const token = Redacted.make("abc-_123")
const appUrl = new URL("https://berth.example:8443/ignored?x=1")

describe("Account mails", () => {
  const mails = [
    composePasswordResetMail(to, appUrl, token),
    composeEmailVerificationMail(to, appUrl, token),
    composeEmailChangedMail(to, appUrl, Option.none()),
    composeEmailChangedMail(to, appUrl, Option.some(token))
  ]

  it("Account mails are valid mails with short lines", () => {
    for (const mail of mails) {
      assert.isTrue(Either.isRight(validateMail({ ...mail, id: MailId.make("mal_1") })))
      assert.strictEqual(mail.to, to)
      for (const line of mail.text.split("\n")) assert.isAtMost(line.length, 140)
      assert.isTrue(mail.text.endsWith("\n"))
    }
  })

  it("Account mails link to the origin of APP_URL on a line of its own", () => {
    const links = mails.flatMap(({ text }) => text.split("\n").filter((line) => line.startsWith("http")))
    assert.deepStrictEqual(links, [
      "https://berth.example:8443/reset-password?token=abc-_123",
      "https://berth.example:8443/api/auth/verify-email?token=abc-_123",
      "https://berth.example:8443/undo-email-change?token=abc-_123"
    ])
  })
})
