import type { Mail } from "@berth/domain/mail/Mail"
import { validateMail } from "@berth/domain/mail/Mailer"
import { DateTime, Effect } from "effect"

export interface MailSender {
  /** Display name; none when empty. */
  readonly name: string
  readonly address: string
}

/** Converts a mail to nodemailer options. Files and URLs in it are never accessed. */
const makeMailEnvelope = (mail: Mail, sender: MailSender, now: DateTime.Utc) => ({
  from: sender,
  to: { name: "", address: mail.to },
  subject: mail.subject,
  text: mail.text,
  messageId: `<${mail.id}@${sender.address.slice(sender.address.lastIndexOf("@") + 1)}>`,
  date: DateTime.toDate(now),
  // RFC 3834: suppresses automatic replies.
  headers: { "Auto-Submitted": "auto-generated" },
  disableFileAccess: true,
  disableUrlAccess: true
})

export type MailEnvelope = ReturnType<typeof makeMailEnvelope>

/** Validates a mail and returns it as nodemailer options. */
export const prepareMail = Effect.fnUntraced(function* (mail: Mail, sender: MailSender) {
  yield* Effect.annotateCurrentSpan({ "mail.id": mail.id })
  yield* validateMail(mail)
  return makeMailEnvelope(mail, sender, yield* DateTime.now)
})
