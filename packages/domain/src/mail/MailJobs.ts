import { Schema } from "effect"
import { MailId } from "./Mail.ts"
import { defineJob } from "../jobs/JobKind.ts"
import { unlimitedRetries } from "../jobs/JobRetryPolicy.ts"

/** Sends a mail, with retries until it expires. The draft is sealed, since it may contain a link that grants access. */
export const SendMailJob = defineJob({
  queue: "mail",
  name: "send-mail",
  payload: Schema.Struct({
    mailId: MailId,
    sealed: Schema.String,
    /** Time after which the mail is useless, for example because its link expires. */
    expiresAt: Schema.DateTimeUtc
  }),
  retryPolicy: unlimitedRetries
})
