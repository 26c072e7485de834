import { Email } from "@berth/domain/shared/Email"
import { validateMail } from "@berth/domain/mail/Mailer"
import { type Mail, MailId } from "@berth/domain/mail/Mail"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const mail = (changes: Partial<Mail>): Mail => ({
  id: MailId.make("mal_1"),
  to: Email.make("ada@example.com"),
  subject: "Hello",
  text: "",
  ...changes
})

const isFit = (changes: Partial<Mail>) => Either.isRight(validateMail(mail(changes)))

describe("validateMail", () => {
  it("validateMail accepts valid mails", () => {
    for (const subject of ["Hello", "Größe 大きさ 😀", "x".repeat(998), "a\u200bb"])
      assert.isTrue(isFit({ subject }), subject)
    assert.isTrue(isFit({ text: "any\r\ntext\u0000" }))
  })

  it.prop("validateMail rejects line breaks in headers", [FastCheck.string(), FastCheck.string()], ([a, b]) => {
    for (const end of ["\r\n", "\n", "\r", "\u2028", "\u2029", "\u0085", "\u0000", "\u000b", "\u000c"]) {
      assert.isFalse(isFit({ subject: `${a}${end}${b}` }))
      assert.isFalse(isFit({ to: Email.make(`ada${a}${end}${b}@example.com`) }))
      assert.isFalse(isFit({ id: MailId.make(`mal_1${a}${end}${b}`) }))
    }
  })

  it.prop("validateMail accepts exactly one plain address", [FastCheck.string()], ([text]) => {
    if (isFit({ to: Email.make(text) })) assert.match(text, /^[^\s<>,;:"()[\]\\]+@[^\s<>,;:"()[\]\\@]+$/)
  })
})
