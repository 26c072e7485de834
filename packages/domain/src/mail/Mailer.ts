import { Context, Data, type Effect } from "effect"
import type { Mail } from "./Mail.ts"

/** Permanent: retries cannot succeed. */
export class MailRejected extends Data.TaggedError("MailRejected")<{ readonly reason: string }> {
  override readonly message = `The mail is rejected: ${this.reason}`
}

/** Transient. `reason` contains no address, mail text or password. */
export class MailServiceUnavailable extends Data.TaggedError("MailServiceUnavailable")<{ readonly reason: string }> {
  override readonly message = `The mail service is unavailable: ${this.reason}`
}

/** Sends mails. A repeated mail keeps its Message-ID. */
export class Mailer extends Context.Tag("@berth/Mailer")<
  Mailer,
  { readonly send: (mail: Mail) => Effect.Effect<void, MailRejected | MailServiceUnavailable> }
>() {}
