import { Context, Data, type Effect, Either, Option } from "effect"
import type { Mail } from "./Mail.ts"
import { parseEmail } from "../shared/Email.ts"

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

/** Maximum line length by RFC 5322. */
const maximumSubject = 998

/** Line breaks and other control characters. */
const controls = /[\p{Cc}\u2028\u2029]/u

/**
 * Validates a mail. Header values must be single lines, so that none injects a header or recipient. The reason quotes
 * nothing.
 */
export const validateMail = (mail: Mail): Either.Either<void, MailRejected> => {
  const reject = (reason: string) => Either.left(new MailRejected({ reason }))
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(mail.id)) return reject("its id is not valid in a Message-ID")
  if (!Option.exists(parseEmail(mail.to), (address) => address === mail.to))
    return reject("its recipient is not an address")
  if (controls.test(mail.subject)) return reject("its subject is not a single line")
  if (mail.subject.trim() === "" || mail.subject.length > maximumSubject)
    return reject(`its subject must have 1 to ${maximumSubject} characters`)
  return Either.void
}
