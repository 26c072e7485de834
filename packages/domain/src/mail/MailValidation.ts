import { Either, Option } from "effect"
import { parseEmail } from "../shared/Email.ts"
import type { Mail } from "./Mail.ts"
import { MailRejected } from "./Mailer.ts"

/** The longest line of RFC 5322 that a header may have. */
const maximumSubject = 998

/** What ends a line, for any reader of it, and whatever else controls rather than is read. */
const controls = /[\p{Cc}\u2028\u2029]/u

/**
 * Whether a mail may be handed on. What goes into its head is one line, so that nothing in it makes another header or another
 * recipient. The reason quotes nothing of the mail.
 */
export const validateMail = (mail: Mail): Either.Either<void, MailRejected> => {
  const refuse = (reason: string) => Either.left(new MailRejected({ reason }))
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(mail.id)) return refuse("its id does not fit into a Message-ID")
  if (!Option.exists(parseEmail(mail.to), (address) => address === mail.to))
    return refuse("its recipient is no address")
  if (controls.test(mail.subject)) return refuse("its subject is not one line")
  if (mail.subject.trim() === "" || mail.subject.length > maximumSubject)
    return refuse(`its subject must have 1 to ${maximumSubject} characters`)
  return Either.void
}
