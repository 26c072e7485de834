import { Schema } from "effect"
import { MailId } from "./Mail.ts"
import type { JobKind } from "../jobs/JobKind.ts"
import { unlimitedRetries } from "../jobs/JobRetryPolicy.ts"

const Payload = Schema.Struct({
  mailId: MailId,
  sealed: Schema.String,
  /** Time after which the mail is useless, for example because its link expires. */
  expiresAt: Schema.DateTimeUtc
})

/** Sends a mail, with retries until it expires. The draft is sealed, since it may contain a link that grants access. */
export const SendMailJob = {
  queue: "mail",
  name: "send-mail",
  payload: Payload,
  retryPolicy: unlimitedRetries
} as const satisfies JobKind<typeof Payload.Type, typeof Payload.Encoded>
