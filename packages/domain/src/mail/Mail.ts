import { Schema } from "effect"
import { Email } from "../shared/Email.ts"
import { idSchema } from "../ids/IdGenerator.ts"

export const MailId = idSchema("MailId", "A mail's id, mal_…")
export type MailId = typeof MailId.Type

/** A mail to one person, in plain text. */
export const Mail = Schema.Struct({
  /** The left side of its Message-ID: a mail that is sent again is the same one to whoever gets it. */
  id: MailId,
  to: Email,
  subject: Schema.String,
  text: Schema.String
})
export type Mail = typeof Mail.Type
