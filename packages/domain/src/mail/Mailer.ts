import { Context, Data, type Effect } from "effect"
import type { Mail } from "./Mail.ts"

/** This mail will never be taken, however often it is tried. */
export class MailRejected extends Data.TaggedError("MailRejected")<{ readonly reason: string }> {
  override get message() {
    return `The mail is refused: ${this.reason}`
  }
}

/** Mail cannot be handed on for now. `reason` holds no address, no text of a mail and no password. */
export class MailServiceUnavailable extends Data.TaggedError("MailServiceUnavailable")<{ readonly reason: string }> {
  override get message() {
    return `Mail cannot be sent for now: ${this.reason}`
  }
}

/**
 * Hands mails on. One that was handed on twice, since it was not known whether the first time had worked, has the same
 * Message-ID both times.
 */
export class Mailer extends Context.Tag("@berth/Mailer")<
  Mailer,
  { readonly send: (mail: Mail) => Effect.Effect<void, MailRejected | MailServiceUnavailable> }
>() {}
