import { Schema } from "effect"
import { Email } from "../shared/Email.ts"
import { idSchema } from "../ids/IdGenerator.ts"

export const MailId = idSchema("MailId", "A mail's id, mal_…")
export type MailId = typeof MailId.Type

/** A plain-text mail to one recipient. */
export const Mail = Schema.Struct({
  /** Local part of the Message-ID, by which recipients can deduplicate a mail. */
  id: MailId,
  to: Email,
  subject: Schema.String,
  text: Schema.String
})
export type Mail = typeof Mail.Type
