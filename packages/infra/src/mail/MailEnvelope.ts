import type { Mail } from "@berth/domain/mail/Mail"
import { DateTime } from "effect"

/** Who mails come from. */
export interface MailSender {
  /** Shown beside the address; none when empty. */
  readonly name: string
  readonly address: string
}

/** A mail in the words of nodemailer. Neither a file nor a URL in it is ever looked at. */
export const makeMailEnvelope = (mail: Mail, sender: MailSender, now: DateTime.Utc) => ({
  from: sender,
  to: { name: "", address: mail.to },
  subject: mail.subject,
  text: mail.text,
  messageId: `<${mail.id}@${sender.address.slice(sender.address.lastIndexOf("@") + 1)}>`,
  date: DateTime.toDate(now),
  // RFC 3834: no automatic answer is wanted to it.
  headers: { "Auto-Submitted": "auto-generated" },
  disableFileAccess: true,
  disableUrlAccess: true
})
